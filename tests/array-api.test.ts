/** docs/array-api.md keeps its word: every name of the standard has a row, and what a row calls present exists. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as strided from "../src/index.ts";

/** The 2023.12 edition, by the page's headings. */
const standard: Readonly<Record<string, string>> = {
  Constants: "e inf nan newaxis pi",
  Creation:
    "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros " +
    "zeros_like",
  "Data types": "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128",
  "Data type functions": "astype can_cast finfo iinfo isdtype result_type",
  "Elementwise functions":
    "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or " +
    "bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater " +
    "greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not " +
    "logical_or logical_xor maximum minimum multiply negative not_equal positive pow real remainder round sign signbit " +
    "sin sinh square sqrt subtract tan tanh trunc",
  Indexing: "take",
  Inspection:
    "__array_namespace_info__ capabilities default_device default_dtypes devices dtypes __array_api_version__",
  "Linear algebra": "matmul matrix_transpose tensordot vecdot",
  Manipulation:
    "broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile " +
    "unstack",
  Searching: "argmax argmin nonzero searchsorted where",
  Sets: "unique_all unique_counts unique_inverse unique_values",
  Sorting: "argsort sort",
  Statistics: "cumulative_sum max mean min prod std sum var",
  Utilities: "all any",
  "The array object: attributes": "dtype device mT ndim shape size T",
  "The array object: methods":
    "__abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__ __eq__ __float__ " +
    "__floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__ " +
    "__mul__ __ne__ __neg__ __or__ __pos__ __pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__ to_device",
  linalg:
    "cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer " +
    "pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm",
  fft: "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift",
};

interface Row {
  readonly section: string;
  /** The standard's name. */
  readonly name: string;
  /** Ours, or null where there is none. */
  readonly here: string | null;
  readonly remarks: string;
}

const page = readFileSync(new URL("../docs/array-api.md", import.meta.url), "utf8");
const rows: Row[] = page.split(/^## /m).flatMap((part) => {
  const [section, ...lines] = part.split("\n");
  const cells = lines
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split("|").map((c) => c.trim()));
  return cells.map(([, name, here, remarks]) => ({
    section,
    name: name.slice(1, -1),
    here: here === "—" ? null : here.slice(1, -1),
    remarks,
  }));
});

const packageNames = strided as unknown as Readonly<Record<string, unknown>>;

/** Is there such a thing: `name`, `linalg.name`, `.member` or `"dtype"`? */
function exists(name: string): boolean {
  if (name.startsWith('"')) return (strided.dtypeNames as readonly string[]).includes(name.slice(1, -1));
  if (name.startsWith(".")) {
    const fields = ["dtype"];
    return name.slice(1) in strided.Tensor.prototype || fields.includes(name.slice(1));
  }
  const [outer, inner] = name.split(".");
  const found = packageNames[outer] as Readonly<Record<string, unknown>> | undefined;
  return inner === undefined ? found !== undefined : found?.[inner] !== undefined;
}

const camelCase = (name: string) =>
  name.replace(/(?<=[a-z\d])_([a-z\d])/g, (_, letter) => letter.toUpperCase());

describe("the table of the array API", () => {
  it.each(Object.keys(standard))("%s: has a row for every name, and for no other", (section) => {
    const names = rows.filter((row) => row.section === section).map((row) => row.name);
    expect(names.sort()).toEqual(standard[section].split(" ").sort());
  });

  it("has no sections that the standard does not have", () => {
    expect([...new Set(rows.map((row) => row.section))]).toEqual(Object.keys(standard));
  });

  it("what it calls present exists", () => {
    const missing = rows.filter((row) => row.here !== null && !exists(row.here));
    expect(missing.map((row) => `${row.section}: ${row.here}`)).toEqual([]);
  });

  it("what it calls absent is absent, and it says why", () => {
    for (const { section, name, here, remarks } of rows) {
      if (here !== null) continue;
      expect(remarks, name).not.toBe("");
      const space = section === "linalg" || section === "fft" ? `${section}.` : "";
      expect(exists(space + camelCase(name)), `${space}${name} is there after all`).toBe(false);
    }
  });

  it("functions are called as the standard calls them, but for those it says", () => {
    const others = rows
      .filter(({ section, here }) => here !== null && !/^(Data types|The array object)/.test(section))
      .filter(({ name, here }) => here!.split(".").at(-1) !== camelCase(name))
      .map(({ name, here }) => `${name}: ${here}`);
    expect(others).toEqual(["dtypes: dtypeNames", "moveaxis: moveAxis", "var: variance"]);
  });

  it("whatever a sentence or a remark names exists", () => {
    const prose = page.split("\n").filter((line) => !line.startsWith("|"));
    const spans = [...prose, ...rows.map((row) => row.remarks)].flatMap((text) =>
      [...text.matchAll(/`(\.?[a-zA-Z][\w.]*)(?:\([^`]*)?`/g)].map(([, name]) => name),
    );
    const known =
      /^(name|linalg\.name|fft\.name|\.name|true|false|null|correction|x\.slice|Math\..*|Infinity|NaN|complex64|default_device|Tensor)$/;
    expect(
      spans.filter((name) => !known.test(name) && ![name, `.${name}`, `"${name}"`].some(exists)),
    ).toEqual([]);
  });

  it("counts", () => {
    const present = rows.filter((row) => row.here !== null).length;
    console.log(
      `array API 2023.12: ${rows.length} names, ${present} present, ${rows.length - present} with a reason`,
    );
    expect(rows.length).toBe(Object.values(standard).join(" ").split(" ").length);
  });
});
