/**
 * Writes docs/memory-layout.md: one drawing per view operation, drawn by the library itself.
 *
 *     npm run docs
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { arange, fromBuffer, fromGgml, scope, type Tensor } from "../src/index.ts";

interface Drawing {
  readonly title: string;
  /** One or two sentences: what happens to shape, strides and offset. */
  readonly law: string;
  readonly code: string;
  readonly make: () => Tensor;
}

const vector = (length: number) => arange(0, 10 * length, 10);
const grid = () => vector(12).reshape(3, 4);

const drawings: readonly Drawing[] = [
  {
    title: "Row-major: where every tensor starts",
    law: "The last axis is next to itself in memory (stride 1); one step along an axis skips everything behind it.",
    code: "t",
    make: grid,
  },
  {
    title: "slice: a range with a step",
    law: "The offset moves to the first element taken, the stride is multiplied by the step.",
    code: 't.slice("1:", "::2")',
    make: () => grid().slice("1:", "::2"),
  },
  {
    title: "slice: an integer drops an axis",
    law: "The offset moves; the axis and its stride are gone. This is column 1.",
    code: 't.slice(":", 1)',
    make: () => grid().slice(":", 1),
  },
  {
    title: "slice: a negative step",
    law: "The offset moves to the last element taken and the stride changes its sign.",
    code: 'v.slice("::-1")',
    make: () => vector(6).slice("::-1"),
  },
  {
    title: "transpose",
    law: "Shape and strides are reversed. Nothing else.",
    code: "t.T",
    make: () => grid().T,
  },
  {
    title: "permute",
    law: "Shape and strides are put in another order; axis k of the view is axis `axes[k]` of the tensor.",
    code: "t.reshape(2, 3, 2).permute(2, 0, 1)",
    make: () => grid().reshape(2, 3, 2).permute(2, 0, 1),
  },
  {
    title: "flip",
    law: "As a slice with step -1 along each flipped axis.",
    code: "v.reshape(2, 3).flip(1)",
    make: () => vector(6).reshape(2, 3).flip(1),
  },
  {
    title: "broadcastTo",
    law: "Axes that repeat have stride 0: many indices, one element. Such a view is read-only.",
    code: 'v.slice(":3").broadcastTo(4, 3)',
    make: () => vector(6).slice(":3").broadcastTo(4, 3),
  },
  {
    title: "expandDims and squeeze",
    law: "Axes of size 1 come and go; no element is ever reached through their stride.",
    code: "v.expandDims(1)",
    make: () => vector(6).expandDims(1),
  },
  {
    title: "reshape",
    law: "A view whenever some strides lay the same elements out in the new shape, as here; otherwise a copy.",
    code: 't.reshape(6, 2).slice(":", 0).reshape(3, 2)',
    make: () => grid().reshape(6, 2).slice(":", 0).reshape(3, 2),
  },
  {
    title: "diagonal",
    law: "One step moves along both axes at once: the stride is the sum of their strides.",
    code: "t.diagonal()",
    make: () => grid().diagonal(),
  },
  {
    title: "slidingWindow",
    law: "The window is a new axis with the stride of the old one, so windows overlap in memory. Read-only.",
    code: "v.slidingWindow(3)",
    make: () => vector(6).slidingWindow(3),
  },
  {
    title: "asStrided",
    law: "Any shape, strides and offset you like, as long as every element lies inside the storage.",
    code: "t.asStrided([2, 3], [5, 2], 1)",
    make: () => grid().asStrided([2, 3], [5, 2], 1),
  },
  {
    title: "fromBuffer: padded rows",
    law: "Rows of 3 bytes in lines of 4, as images often have them. The padding is there and never read.",
    code: 'fromBuffer(bytes, { dtype: "u8", shape: [3, 3], byteStrides: [4, 1] })',
    make: () =>
      fromBuffer(
        Uint8Array.from({ length: 12 }, (_, i) => 10 * i),
        {
          dtype: "u8",
          shape: [3, 3],
          byteStrides: [4, 1],
        },
      ),
  },
  {
    title: "fromBuffer: interleaved records",
    law: "Records of a 16-bit number and two bytes. The view is the numbers alone, 4 bytes apart.",
    code: 'fromBuffer(bytes, { dtype: "u16", shape: [4], byteStrides: [4] })',
    make: () =>
      fromBuffer(new Uint16Array([1, 900, 2, 901, 3, 902, 4, 903]), {
        dtype: "u16",
        shape: [4],
        byteStrides: [4],
      }),
  },
  {
    title: "fromGgml: ne and nb",
    law: "ggml lists the fastest axis first and counts strides in bytes; here the two slower axes are swapped.",
    code: 'fromGgml({ type: "f32", ne: [2, 3, 2], nb: [4, 16, 8], data })',
    make: () =>
      fromGgml({
        type: "f32",
        ne: [2, 3, 2],
        nb: [4, 16, 8],
        data: Float32Array.from({ length: 12 }, (_, i) => 10 * i),
      }),
  },
];

const introduction = `# Memory layout

A tensor is a storage (a run of bytes) and a view of it: a shape, one stride per axis and an offset. The element at
index \`i\` lies at

    offset + i[0]·strides[0] + i[1]·strides[1] + …

Every operation on this page edits those few numbers and touches no element. The drawings come from the library:
\`console.log(t.layout())\` makes one of any tensor. The first part is the memory, position above value, with the
view's own elements in brackets; the second is the view, each cell as value@position. In all of them

    t = arange(0, 120, 10).reshape(3, 4)      v = arange(0, 60, 10)

This page is made by \`npm run docs\`, and a test keeps it current.
`;

export function memoryLayoutPage(): string {
  const sections = drawings.map(({ title, law, code, make }) => {
    const picture = scope(() => make().layout());
    return `## ${title}\n\n${law}\n\n\`${code}\`\n\n\`\`\`text\n${picture}\n\`\`\`\n`;
  });
  return [introduction, ...sections].join("\n");
}

const self = fileURLToPath(import.meta.url);
if (process.argv[1] === self) writeFileSync(new URL("memory-layout.md", import.meta.url), memoryLayoutPage());
