/** The pages of the site in the order in which they are read. Every markdown file of docs/ has its place here: a test holds it. */

export interface Group {
  readonly title: string;
  readonly pages: readonly string[];
  /** What a link in the sidebar says, where the page's own heading is too long for it. */
  readonly short?: Readonly<Record<string, string>>;
}

export const groups: readonly Group[] = [
  {
    title: "Begin",
    pages: ["docs/guides/start.md", "README.md", "docs/types.md"],
    short: { "README.md": "A tour" },
  },
  {
    title: "Coming from",
    pages: [
      "docs/guides/from-numpy.md",
      "docs/from-numba.md",
      "docs/guides/from-pytorch.md",
      "docs/guides/from-tfjs.md",
      "docs/array-api.md",
    ],
    short: { "docs/array-api.md": "The array API" },
  },
  {
    title: "Guides",
    pages: [
      "docs/memory-layout.md",
      "docs/memory.md",
      "docs/guides/kernels.md",
      "docs/semantics.md",
      "docs/loops.md",
      "docs/fuse.md",
      "docs/guides/performance.md",
      "docs/guides/accuracy.md",
      "docs/testing.md",
      "docs/browsers.md",
      "docs/toolchains.md",
    ],
    short: {
      "docs/guides/kernels.md": "Kernels",
      "docs/semantics.md": "What a kernel means",
      "docs/loops.md": "Loops with njit",
      "docs/testing.md": "Testing",
      "docs/browsers.md": "Browsers and threads",
    },
  },
  {
    title: "Data",
    pages: [
      "docs/files.md",
      "docs/zarr.md",
      "docs/chunked.md",
      "docs/quantised.md",
      "docs/interop.md",
      "docs/command-line.md",
    ],
    short: { "docs/interop.md": "Other libraries" },
  },
  {
    title: "Pictures",
    pages: ["docs/images.md", "docs/pixels.md", "docs/plots.md"],
  },
  {
    title: "Learning",
    pages: ["docs/gradients.md", "docs/nn.md"],
  },
  {
    title: "Examples",
    pages: ["docs/cookbook.md"],
  },
  {
    title: "Reference",
    pages: [
      "docs/reference/README.md",
      ...[
        ["tensor", "creation", "dtypes", "views", "indexing", "elementwise", "reductions", "statistics"],
        ["linalg", "sorting", "fft", "random", "convolution", "kernels", "memory"],
        ["io", "interop", "plot", "grad", "nn", "quantised", "chunked", "entries"],
      ]
        .flat()
        .map((name) => `docs/reference/${name}.md`),
    ],
    short: {
      "docs/reference/README.md": "All names",
      "docs/reference/entries.md": "strided/methods, /turbo",
    },
  },
  {
    title: "Inside",
    pages: ["docs/guides/inside.md", "ARCHITECTURE.md", "docs/benchmarks/README.md", "docs/explorer.md"],
    short: { "docs/benchmarks/README.md": "Benchmark" },
  },
  {
    title: "Project",
    pages: [
      "docs/stability.md",
      "docs/guides/from-0.1.md",
      "CHANGELOG.md",
      "CONTRIBUTING.md",
      "SECURITY.md",
      "CODE_OF_CONDUCT.md",
    ],
  },
];
