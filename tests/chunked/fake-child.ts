import { serveTasks } from "../../src/chunked/engines/serve.ts";
import { runFake } from "./fake.ts";

serveTasks(runFake);
