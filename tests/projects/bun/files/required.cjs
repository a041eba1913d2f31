const { Tensor, add, arange } = require("strided");

import("strided").then((imported) => {
  console.log(JSON.stringify([imported.Tensor === Tensor, add(imported.arange(3), arange(3)).toArray()]));
});
