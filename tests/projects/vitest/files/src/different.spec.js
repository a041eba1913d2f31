import { tensor } from "strided";
import { expect, test } from "vitest";

test("a difference is shown", () => {
  expect(tensor([1, 2, 3])).toEqual(tensor([1, 2, 4]));
});
