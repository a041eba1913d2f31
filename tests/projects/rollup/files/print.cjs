const { all } = require("./out-node/programs.cjs");

all().then((result) => console.log(JSON.stringify(result)));
