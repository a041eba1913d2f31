/** The program of a child that runs tasks. One thread each: there are as many children as the plan has workers. */
import { configure } from "../../engine.ts";
import { runTask } from "../task.ts";
import { serveTasks } from "./serve.ts";

configure({ threads: 1 });
serveTasks(runTask);
