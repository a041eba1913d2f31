const { tensor } = require("strided");

test("a difference is shown", () => {
  expect(tensor([1, 2, 3])).toEqual(tensor([1, 2, 4]));
});
