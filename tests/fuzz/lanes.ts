/**
 * Random loops that may run by lanes: long enough for several groups and a rest, over arrays that overlap, run backwards, have
 * strides or are the same, with tests, sums and loops inside. Whatever of them the compiler makes vectors of, the outcome is
 * that of the function itself, to the bit, up to the place of an index that is outside.
 */
import fc from "fast-check";
import { broadcastTo, type DType, type Tensor, TensorError, tensor, zeros } from "../../src/index.ts";
import { bindArgument, compile, execute } from "../../src/njit/bind.ts";
import type { Step } from "../../src/njit/ir.ts";
import { insideOf, type Njit, type NjitValue, njit } from "../../src/njit/njit.ts";
import { family } from "./family.ts";
import { compareRuns, type Run, runOn } from "./njit.ts";

/* The function: (A, B, C: rank 2, T, U: typed arrays, n, x) ------------------------------------------------------------------- */

interface Where {
  /** Loops around, outermost first. */
  readonly counters: readonly string[];
  readonly locals: readonly string[];
}

const oneOf = (...list: string[]) => fc.constantFrom(...list);

/** Mostly inside. */
function element({ counters }: Where, isStore: boolean): fc.Arbitrary<string> {
  const last = counters.at(-1) ?? "0";
  const row = oneOf(...counters.slice(0, -1), "0", "1", ...(counters.length > 1 ? [counters[0]] : []));
  const column = oneOf(last, last, last, last, `${last} + 1`, `${last} - 1`, `n - 1 - ${last}`, "0", "2");
  const ofTensor = fc
    .tuple(oneOf("A", "B", isStore ? "A" : "C"), row, column)
    .map(([t, i, j]) => (isStore ? `${t}.set([${i}, ${j}], ` : `${t}.get(${i}, ${j})`));
  const flat = oneOf(
    last,
    last,
    `${last} + 1`,
    `${last} - 1`,
    `${counters[0] ?? "0"} * n + ${last}`,
    `base + ${last}`,
    `2 * ${last}`,
    "1",
    `${last} + 5`,
  );
  const ofArray = fc
    .tuple(oneOf("T", isStore ? "T" : "U"), flat)
    .map(([t, i]) => (isStore ? `${t}[${i}] = (` : `${t}[${i}]`));
  return fc.oneof(ofTensor, ofTensor, ofArray);
}

function values(where: Where): { value: fc.Arbitrary<string>; test: fc.Arbitrary<string> } {
  const simple = fc.oneof(
    element(where, false),
    element(where, false),
    oneOf(
      "0.5",
      "2",
      "(-1)",
      "x",
      "n",
      "1e9",
      "NaN",
      "3",
      ...where.counters,
      ...where.locals,
      ...where.locals,
    ),
  );
  const { value, test } = fc.letrec<{ value: string; test: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      simple,
      fc
        .tuple(tie("value"), oneOf(..."+ - * + - * /".split(" ")), tie("value"))
        .map(([a, op, b]) => `(${a} ${op} ${b})`),
      fc
        .tuple(tie("value"), oneOf(..."& | ^ << >> >>> %".split(" ")), tie("value"))
        .map(([a, op, b]) => `(${a} ${op} ${b})`),
      fc
        .tuple(oneOf(..."abs sqrt floor ceil trunc round sign fround exp log".split(" ")), tie("value"))
        .map(([f, a]) => `Math.${f}(${a})`),
      fc.tuple(oneOf("min", "max"), tie("value"), tie("value")).map(([f, a, b]) => `Math.${f}(${a}, ${b})`),
      fc.tuple(tie("test"), tie("value"), tie("value")).map(([c, a, b]) => `(${c} ? ${a} : ${b})`),
      fc.tuple(oneOf("-", "~", "+"), tie("value")).map(([op, a]) => `(${op}${a})`),
      tie("value").map((a) => `(${a} | 0)`),
    ),
    test: fc.oneof(
      { maxDepth: 1, depthSize: "small" },
      fc
        .tuple(tie("value"), oneOf(..."< <= > >= == !=".split(" ")), tie("value"))
        .map(([a, op, b]) => `(${a} ${op} ${b})`),
      fc.tuple(tie("test"), oneOf("&&", "||"), tie("test")).map(([a, op, b]) => `(${a} ${op} ${b})`),
      tie("test").map((c) => `!${c}`),
      // The same for all lanes, and what keeps an index inside.
      oneOf("(x > 0)", "(n > 5)"),
      fc
        .tuple(oneOf(...where.counters), oneOf("A.shape[1]", "C.shape[1]", "U.length", "B.shape[0]", "n"))
        .map(([c, size]) => `(${c} < ${size})`),
    ),
  }));
  return { value, test };
}

function statements(where: Where, most: number): fc.Arbitrary<string> {
  const { value, test } = values(where);
  const store = fc.tuple(element(where, true), value).map(([to, v]) => `${to}${v});`);
  const set = fc.tuple(oneOf("v", "w"), value).map(([v, a]) => `${v} = ${a};`);
  const kinds = [
    store,
    store,
    store,
    set,
    fc.tuple(oneOf("+", "-"), value).map(([op, a]) => `sum ${op}= ${a};`),
  ];
  if (most > 0) {
    const inner = statements(where, most - 1);
    kinds.push(
      fc.tuple(test, inner).map(([c, s]) => `if (${c}) { ${s} }`),
      fc.tuple(test, inner, inner).map(([c, s, t]) => `if (${c}) { ${s} } else { ${t} }`),
      test.map((c) => `if (${c}) continue;`),
    );
  }
  return fc.array(fc.oneof(...kinds), { minLength: 1, maxLength: 3 }).map((list) => list.join(" "));
}

/** A turn sets what is its own before anything reads it. */
const turn = (where: Where): fc.Arbitrary<string> => {
  const first = values({ ...where, locals: [] }).value;
  return fc
    .tuple(first, first, statements({ ...where, locals: ["v", "w"] }, 1))
    .map(([v, w, s]) => `let v = ${v}; let w = ${w}; ${s}`);
};

/** A sum in a loop inside, and what becomes of it. */
const summed = (where: Where): fc.Arbitrary<string> => {
  const inside = values({ counters: [...where.counters, "p"], locals: ["s"] }).value;
  const j = where.counters.at(-1)!;
  const swept = fc.oneof(
    inside,
    oneOf(`A.get(0, p) * B.get(p, ${j})`, `C.get(p, ${j})`, `B.get(1, p) * U[p * n + ${j}]`),
  );
  return fc
    .tuple(oneOf("2", "A.shape[0]", "3"), swept, element(where, true), oneOf("s", "s * x", "s + A.get(0, 0)"))
    .map(([m, e, to, v]) => `let s = 0; for (let p = 0; p < ${m}; p++) s = s + ${e}; ${to}${v});`);
};

/** A loop inside that each turn leaves when it likes, with elements at places of its own; and what becomes of it. */
const parted = (where: Where): fc.Arbitrary<string> => {
  const j = where.counters.at(-1)!;
  const own = values({ counters: [...where.counters, "k"], locals: ["u", "w"] });
  const place = oneOf(
    `A.get(0, Math.min(k + ${j}, A.shape[1] - 1))`,
    `B.get(Math.min(k, 1), Math.max(0, ${j} - k))`,
    `C.get(1, Math.max(0, ${j} - 2) + k)`,
    `U[k * 2]`,
    `U[(k * 3 + ${j}) % U.length]`,
    "x",
    "x",
  );
  const work = "u = Math.sqrt(Math.abs(u * 0.75 + w)) / (1 + w * w) - 0.25;";
  const step = fc.oneof(
    own.value.map((a) => `w = ${a};`),
    own.test.map((c) => `if (${c}) continue;`),
    own.test.map((c) => `if (${c}) break;`),
    own.test.map((c) => `if (${c}) break out;`),
    fc.tuple(own.test, own.value).map(([c, a]) => `if (${c}) { w = ${a}; if (u < w) continue; u = u + 1; }`),
    fc.tuple(own.test, own.value).map(([c, a]) => `if (${c}) u = ${a}; else { w = u; if (w > 3) break; }`),
    own.value.map(
      (a) => `for (let q = 0; q < 3; q++) { if (u * q > w) break; u = u + Math.sqrt(Math.abs(${a})); }`,
    ),
    place.map((e) => `w = w + ${e};`),
    fc.constant("n2 = n2 + 1;"),
  );
  const head = oneOf(
    "for (let k = 0; k < 9; k++)",
    `for (let k = 0; k < ${j} + 1; k++)`,
    `for (let k = Math.max(0, ${j} - 2); k <= Math.min(n - 1, ${j} + 2); k++)`,
    "for (let k = 0; k < 12 && u * u + w * w < 40; k++)",
    "for (let k = 0; u > w - k; k++)",
  );
  const first = values({ ...where, locals: [] }).value;
  return fc
    .tuple(
      first,
      first,
      head,
      fc.array(step, { minLength: 1, maxLength: 3 }),
      element(where, true),
      fc.boolean(),
    )
    .map(([u, w, loop, steps, to, isDouble]) => {
      const turns = `${loop} { if (k > 20) break; ${work} ${steps.join(" ")} }`;
      const all = isDouble ? `for (let r = 0; r < 2; r++) { ${turns} }` : turns;
      return `let u = ${u}; let w = ${w}; let n2 = 0; out: { ${all} } ${to}u + w * n2);`;
    });
};

/** Sides of a test that set what is tested, once or turn by turn. */
const flagged = (where: Where): fc.Arbitrary<string> => {
  const { value, test } = values({ ...where, locals: ["v"] });
  const flag = fc.oneof(test, oneOf("c", "d", "!c", "!d", "true", "v > 2"));
  const step = fc.oneof(
    fc.tuple(oneOf("c", "c", "d"), flag).map(([to, f]) => `${to} = ${f};`),
    value.map((a) => `v = Math.sqrt(Math.abs(${a})) / 3;`),
    oneOf("v = v + 1;", "v = 2 / (1 + v * v);"),
  );
  const side = fc.array(step, { minLength: 1, maxLength: 3 }).map((list) => list.join(" "));
  const sides = fc
    .tuple(oneOf("c", "c", "!c", "d", "c && d", "c || d"), side, side)
    .map(([f, a, b]) => `if (${f}) { ${a} } else { ${b} }`);
  const first = values({ ...where, locals: [] });
  return fc
    .tuple(
      fc.tuple(first.value, first.test, first.test),
      fc.array(sides, { minLength: 1, maxLength: 2 }),
      element(where, true),
      fc.boolean(),
    )
    .map(([[v, c, d], list, to, isLoop]) => {
      const all = list.join(" ");
      const turns = isLoop ? `for (let k = 0; k < 6; k++) { ${all} if (c && v > 1.5) break; }` : all;
      return `let v = ${v}; let c = ${c}; let d = ${d}; ${turns} ${to}v + (c ? 10 : 20) + (d ? 100 : 200));`;
    });
};

const from = oneOf("0", "0", "1", "2");
const to = oneOf("n", "n", "n - 1", "A.shape[1]", "T.length", "n - 2");
const loop = (where: Where, name: string): fc.Arbitrary<string> => {
  const own = { ...where, counters: [...where.counters, name] };
  return fc
    .tuple(
      from,
      to,
      oneOf("<", "<", "<", "<="),
      oneOf("++", "++", "++", " += 2"),
      fc.oneof(turn(own), turn(own), summed(own), parted(own), flagged(own)),
    )
    .map(([a, b, op, by, body]) => `for (let ${name} = ${a}; ${name} ${op} ${b}; ${name}${by}) { ${body} }`);
};

const none: Where = { counters: [], locals: [] };
const source = fc
  .oneof(
    loop(none, "j"),
    fc
      .tuple(loop({ ...none, counters: ["i"] }, "j"), oneOf("A.shape[0]", "2", "A.shape[0] - 1"))
      .map(([inner, m]) => `for (let i = 0; i < ${m}; i++) { const base = i * n; ${inner} }`),
  )
  .map(
    (body) => `(A, B, C, T, U, n, x) => {
  let sum = 0.25;
  const base = 1;
  ${body}
  return sum;
}`,
  );

/* Its arguments -------------------------------------------------------------------------------------------------------------- */

const dtypes = [
  "f64",
  "f64",
  "f64",
  "i32",
  "u8",
  "i16",
  "u32",
  "bool",
  "f32",
] as const satisfies readonly DType[];
const arrays = { Float64Array, Int32Array, Uint8Array, Int16Array, Uint32Array, Float32Array };
const layouts = ["dense", "dense", "turned", "reversed", "stepped", "broadcast", "shifted", "same"] as const;

export interface LanesCase {
  readonly source: string;
  readonly dtypes: readonly DType[];
  readonly layouts: readonly (typeof layouts)[number][];
  readonly rows: number;
  readonly columns: number;
  /** Elements that B begins after A, where it is A's neighbour. */
  readonly shift: number;
  readonly t: keyof typeof arrays;
  readonly u: keyof typeof arrays;
  readonly isShared: boolean;
  readonly n: number;
  readonly x: number;
  readonly seed: number;
}

const cases: fc.Arbitrary<LanesCase> = fc.record({
  source,
  dtypes: fc.array(fc.constantFrom(...dtypes), { minLength: 3, maxLength: 3 }),
  layouts: fc.array(fc.constantFrom(...layouts), { minLength: 3, maxLength: 3 }),
  rows: fc.integer({ min: 2, max: 4 }),
  columns: fc.oneof(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 13, max: 40 })),
  shift: fc.integer({ min: -9, max: 9 }),
  t: fc.constantFrom(...(Object.keys(arrays) as (keyof typeof arrays)[])),
  u: fc.constantFrom(...(Object.keys(arrays) as (keyof typeof arrays)[])),
  isShared: fc.boolean(),
  n: fc.integer({ min: 0, max: 9 }),
  x: fc.constantFrom(0.5, -2, 3, 1e-3, -0, 7),
  seed: fc.integer({ min: 0, max: 1000 }),
});

function argumentsOf(c: LanesCase): NjitValue[] {
  const { rows, columns } = c;
  let x = c.seed;
  const next = () => {
    x = (Math.imul(x, 1664525) + 1013904223) | 0;
    const k = x >>> 20;
    return k % 7 === 0 ? 0 : k % 11 === 0 ? -(k % 5) : (k % 100) / 4;
  };
  const make = (shape: readonly number[], dtype: DType): Tensor => {
    const size = shape.reduce((a, b) => a * b, 1);
    const list = Array.from({ length: size }, next);
    const flat = size === 0 ? zeros([0], { dtype: "f64" }) : tensor(list, { dtype: "f64" });
    return flat.reshape([...shape]).to(dtype);
  };
  const base = make([rows * columns + 20], c.dtypes[0]);
  const shape = [rows, columns];
  const first = base.slice(`10:${10 + rows * columns}`).reshape(shape);
  const laid = (k: number): Tensor => {
    const dtype = c.dtypes[k];
    switch (c.layouts[k]) {
      case "turned":
        return make([columns, rows], dtype).T;
      case "reversed":
        return make(shape, dtype).flip();
      case "stepped":
        return make([rows, 2 * columns], dtype).slice(":", "::2");
      case "broadcast":
        return k === 2 ? broadcastTo(make([1, columns], dtype), shape) : make(shape, dtype);
      case "shifted":
        return base.slice(`${10 + c.shift}:${10 + c.shift + rows * columns}`).reshape(shape);
      case "same":
        return first;
      default:
        return make(shape, dtype);
    }
  };
  const a = c.layouts[0] === "dense" ? first : laid(0);
  const n = c.n < 2 ? c.n : columns;
  const length = Math.max(rows * columns + 6, 0);
  const t = new arrays[c.t](length);
  // Of one kind: the bits of a NaN are nobody's business.
  const u = c.isShared
    ? new arrays[c.t](t.buffer, t.BYTES_PER_ELEMENT * (c.seed % 4))
    : new arrays[c.u](length);
  for (let i = 0; i < t.length; i++) t[i] = next();
  if (!c.isShared) for (let i = 0; i < u.length; i++) u[i] = next();
  return [a, laid(1), laid(2), t, u, n, c.x];
}

/* The check ------------------------------------------------------------------------------------------------------------------ */

/** Functions that are the library's own. */
const isOwn = (text: string): boolean => /Math\.(exp|log)\b/.test(text);

/** The same code turn by turn. */
function withoutLanes(steps: readonly Step[]): Step[] {
  return steps.flatMap((s): Step[] => {
    switch (s.op) {
      case "lanes":
        return [];
      case "if":
        return [{ ...s, yes: withoutLanes(s.yes), no: withoutLanes(s.no) }];
      case "block":
      case "loop":
      case "fork":
        return [{ ...s, body: withoutLanes(s.body) }];
      default:
        return [s];
    }
  });
}

function turnByTurn(fn: Njit, args: NjitValue[]): unknown {
  const code = insideOf(fn).codeFor(args);
  const compiled = compile(() => ({ ...code, body: withoutLanes(code.body) }));
  return execute(
    compiled,
    args.map((a, i) => bindArgument(`argument ${i}`, a)),
  );
}

export function checkLanes(c: LanesCase): boolean {
  const make = new Function(`return (${c.source})`) as () => (...args: never[]) => unknown;
  let fn: Njit;
  let compiled: Run;
  try {
    fn = njit(make());
    compiled = runOn(fn, () => argumentsOf(c));
  } catch (error) {
    if (error instanceof TensorError && ["dtype", "kernel", "readonly"].includes(error.code)) return false;
    throw error;
  }
  const check = (what: string, run: (...args: NjitValue[]) => unknown) => {
    const found = compareRuns(
      compiled,
      runOn(run, () => argumentsOf(c)),
    );
    if (found !== null) throw new Error(`by lanes against ${what}: ${found}\n${c.source}`);
  };
  if (isOwn(c.source)) {
    check("turn by turn", (...args) => turnByTurn(fn, args));
    return true;
  }
  check("interpreted", (...args) => insideOf(fn).interpreted(args));
  const isRounded = c.dtypes.includes("f32") || c.t === "Float32Array" || c.u === "Float32Array";
  if (!isRounded) check("plain", fn.plain);
  return true;
}

export const lanesFamily = family<LanesCase>({
  name: "lanes",
  law: "random loops over arrays that overlap do the same by lanes as turn by turn, to the bit",
  cases,
  check: checkLanes,
  gate: 150,
});
