import { expect, test } from "bun:test";
import { kernel, tensor } from "strided";

test("a kernel", () => {
  expect(kernel((x) => (x > 0 ? x : 0))(tensor([-1, 2])).toArray()).toEqual([0, 2]);
});
