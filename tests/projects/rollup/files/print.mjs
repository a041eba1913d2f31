import { all } from "./out-node/programs.mjs";

console.log(JSON.stringify(await all()));
