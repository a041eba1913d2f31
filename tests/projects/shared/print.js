/** The programs in plain Node: what the other projects are compared with. */
import { all } from "./programs.js";

console.log(JSON.stringify(await all()));
