const { all } = require("./shared/programs.js");

all().then((result) => console.log(JSON.stringify(result)));
