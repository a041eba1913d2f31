const { arange, kernel } = require("strided");

const half = kernel((x) => x / 2);
console.log(half(arange(3)).toArray().join());
