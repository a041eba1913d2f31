import fc from "fast-check";
import { expect, test } from "vitest";
import { drawView } from "./draw.ts";
import { slice } from "./slice.ts";
import { addresses, samples } from "./testing.ts";
import { broadcastTo, contiguousView, flip, permute, transpose } from "./view.ts";

test("a stepped slice", () => {
  const view = slice(contiguousView([2, 4], 4), [":", "::2"]);
  expect(drawView(view, { elements: 8, name: "a" })).toMatchInlineSnapshot(`
    "a: shape [2, 2], strides [4, 2], offset 0

    memory: 8 elements
      [0]  1  [2]  3  [4]  5  [6]  7

    view, each cell's position:
       0  2
       4  6"
  `);
});

test("with values, memory has a ruler and the grid says where each value lies", () => {
  const view = transpose(slice(contiguousView([3, 4], 4), ["1:"]));
  const values = (byteAddress: number): string => String(100 + byteAddress / 4);
  expect(drawView(view, { elements: 12, values })).toMatchInlineSnapshot(`
    "view: shape [4, 2], strides [1, 4], offset 4

    memory: 12 elements
         0     1     2     3     4     5     6     7
       100   101   102   103  [104] [105] [106] [107]
         8     9    10    11
      [108] [109] [110] [111]

    view, each cell as value@position:
        104@4   108@8
        105@5   109@9
        106@6  110@10
        107@7  111@11"
  `);
});

test("three axes are drawn as one grid for each index of the first", () => {
  expect(drawView(permute(contiguousView([2, 3, 4], 8), [2, 0, 1]), { elements: 24 })).toMatchInlineSnapshot(`
    "view: shape [4, 2, 3], strides [1, 12, 4], offset 0

    memory: 24 elements
      [ 0] [ 1] [ 2] [ 3] [ 4] [ 5] [ 6] [ 7] [ 8] [ 9] [10] [11] [12] [13] [14] [15]
      [16] [17] [18] [19] [20] [21] [22] [23]

    view, each cell's position:
      [0, :, :]
        0   4   8
       12  16  20
      [1, :, :]
        1   5   9
       13  17  21
      [2, :, :]
        2   6  10
       14  18  22
      [3, :, :]
        3   7  11
       15  19  23"
  `);
});

test("one axis, no axis, repeated rows and no element", () => {
  expect(drawView(flip(contiguousView([3], 4)), { elements: 3 })).toMatchInlineSnapshot(`
    "view: shape [3], strides [-1], offset 2

    memory: 3 elements
      [0] [1] [2]

    view, each cell's position:
       2  1  0"
  `);
  expect(drawView(contiguousView([], 4), { elements: 1 })).toMatchInlineSnapshot(`
    "view: shape [], strides [], offset 0

    memory: 1 element
      [0]

    view, each cell's position:
       0"
  `);
  expect(drawView(broadcastTo(contiguousView([3], 4), [2, 3]), { elements: 3 })).toMatchInlineSnapshot(`
    "view: shape [2, 3], strides [0, 1], offset 0

    memory: 3 elements
      [0] [1] [2]

    view, each cell's position:
       0  1  2
       0  1  2"
  `);
  expect(drawView(slice(contiguousView([3], 4), ["3:"]), { elements: 3 })).toMatchInlineSnapshot(`
    "view: shape [0], strides [1], offset 0

    memory: 3 elements
       0   1   2

    view: no elements"
  `);
  expect(drawView(contiguousView([0], 4), { elements: 0 })).toMatchInlineSnapshot(`
    "view: shape [0], strides [1], offset 0

    memory: empty

    view: no elements"
  `);
});

test("a view that is not aligned to its elements is drawn in bytes", () => {
  expect(
    drawView({ shape: [3], strides: [5], offset: 1, itemBytes: 2 }, { elements: 8 }),
  ).toMatchInlineSnapshot(`
    "view: shape [3], strides [5], offset 1, in bytes (elements of 2)

    memory: 16 bytes
        0  [ 1] [ 2]   3    4    5  [ 6] [ 7]   8    9   10  [11] [12]  13   14   15

    view, each cell's position:
        1   6  11"
  `);
});

test("a long memory shows the rows that the view touches", () => {
  const view = slice(contiguousView([100, 100], 4), ["50:53", "10:20:3"]);
  expect(drawView(view, { elements: 10000 })).toMatchInlineSnapshot(`
    "view: shape [3, 4], strides [100, 3], offset 5010

    memory: 10000 elements
       … 5008 more
       5008   5009  [5010]  5011   5012  [5013]  5014   5015
      [5016]  5017   5018  [5019]  5020   5021   5022   5023
       … 80 more
       5104   5105   5106   5107   5108   5109  [5110]  5111
       5112  [5113]  5114   5115  [5116]  5117   5118  [5119]
       … 88 more
       5208   5209  [5210]  5211   5212  [5213]  5214   5215
      [5216]  5217   5218  [5219]  5220   5221   5222   5223
       … 4776 more

    view, each cell's position:
       5010  5013  5016  5019
       5110  5113  5116  5119
       5210  5213  5216  5219"
  `);
});

test("a large grid shows its corners", () => {
  expect(drawView(contiguousView([20, 3, 30], 4), { elements: 1800 })).toMatchInlineSnapshot(`
    "view: shape [20, 3, 30], strides [90, 30, 1], offset 0

    memory: 1800 elements
      [   0] [   1] [   2] [   3] [   4] [   5] [   6] [   7]
      [   8] [   9] [  10] [  11] [  12] [  13] [  14] [  15]
      [  16] [  17] [  18] [  19] [  20] [  21] [  22] [  23]
      [  24] [  25] [  26] [  27] [  28] [  29] [  30] [  31]
      [  32] [  33] [  34] [  35] [  36] [  37] [  38] [  39]
      [  40] [  41] [  42] [  43] [  44] [  45] [  46] [  47]
      [  48] [  49] [  50] [  51] [  52] [  53] [  54] [  55]
       … 1736 more
      [1792] [1793] [1794] [1795] [1796] [1797] [1798] [1799]

    view, each cell's position:
      [0, :, :]
          0     1     2     …    27    28    29
         30    31    32     …    57    58    59
         60    61    62     …    87    88    89
      [1, :, :]
         90    91    92     …   117   118   119
        120   121   122     …   147   148   149
        150   151   152     …   177   178   179
      [2, :, :]
        180   181   182     …   207   208   209
        210   211   212     …   237   238   239
        240   241   242     …   267   268   269
      … 14 more
      [17, :, :]
       1530  1531  1532     …  1557  1558  1559
       1560  1561  1562     …  1587  1588  1589
       1590  1591  1592     …  1617  1618  1619
      [18, :, :]
       1620  1621  1622     …  1647  1648  1649
       1650  1651  1652     …  1677  1678  1679
       1680  1681  1682     …  1707  1708  1709
      [19, :, :]
       1710  1711  1712     …  1737  1738  1739
       1740  1741  1742     …  1767  1768  1769
       1770  1771  1772     …  1797  1798  1799"
  `);
});

test("a picture stays within a screen, however large the view", () => {
  const picture = drawView(contiguousView([1000, 1000, 1000], 4), { elements: 1e9 }).split("\n");
  expect(picture.length).toBeLessThan(80);
  expect(Math.max(...picture.map((line) => line.length))).toBeLessThan(110);
});

test("exactly the cells of the view stand in brackets, and the grid lists them in order", () => {
  fc.assert(
    fc.property(
      samples.filter(({ bytes, view }) => bytes / view.itemBytes <= 64 && addresses(view).length <= 64),
      ({ view, bytes }) => {
        const [memory, grid] = drawView(view, { elements: bytes / view.itemBytes, name: "v" })
          .split("\n\n")
          .slice(1);
        const cells = addresses(view).map((address) => address / view.itemBytes);
        const marked = [...memory.matchAll(/\[ *(\d+)\]/g)].map((match) => Number(match[1]));
        expect(marked).toEqual([...new Set(cells)].sort((a, b) => a - b));
        const drawn = grid
          .split("\n")
          .slice(1)
          .filter((line) => !line.includes("["));
        const numbers = drawn.flatMap((line) => line.trim().split(/\s+/)).map(Number);
        if (!grid.includes("…")) expect(numbers).toEqual(cells);
      },
    ),
    { numRuns: 200 },
  );
});
