/**
 * Random numbers as a function of their place: Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
 * easy as 1, 2, 3", 2011) makes four words from a counter and a key by ten rounds of multiplication. Nothing is carried
 * from one block to the next, so threads may begin anywhere, and four blocks fit the four lanes of a register: the
 * products of 32 × 32 bits are instructions, where those of the 64-bit variant are not.
 *
 * A task is a run of groups, 16 words each. First the words are written where the numbers shall be, then each is made a
 * number in place. No multiplication is fused with an addition: every host computes the same bits.
 */
import { type DType, dtypes } from "../../dtype.ts";
import { Builder } from "../../ir/build.ts";
import type { Id, InputNode, Program } from "../../ir/node.ts";
import { optimize } from "../../optimize/pipeline.ts";
import {
  type Callable,
  type FuncBuilder,
  i32x4,
  type Label,
  type Local,
  type ModuleBuilder,
} from "../assembler/assembler.ts";
import { heapModule } from "../kit.ts";
import { type CodeContext, loadScalar, ScalarCode, storeScalar } from "../program/scalar.ts";
import { slowFunctions } from "../program/slow.ts";
import { transpose32 } from "../program/transpose.ts";
import { VectorCode } from "../program/vector.ts";
import { task } from "../task.ts";

/** How the host runs: what run/routine.ts says of it. */
interface Host {
  readonly shared: boolean;
  readonly simd: boolean;
}

/** What the words become. "bits": nothing; "below": whole numbers below a bound; the others are distributions. */
export type Distribution = "bits" | "below" | "uniform" | "normal" | "exponential";
/** 32-bit numbers take a word each, 64-bit ones two. */
export type DrawDType = "u32" | "u64" | "f32" | "f64";

export const randomTask = task({
  at: "ptr",
  groups: "i32",
  /** The counter: block number, then the stream; and the key. */
  low: "i32",
  high: "i32",
  stream0: "i32",
  stream1: "i32",
  key0: "i32",
  key1: "i32",
  /** Three parameters of two words, or the first of a shuffle's numbers. */
  own0: "i32",
  own1: "i32",
  own2: "i32",
  own3: "i32",
  own4: "i32",
  own5: "i32",
  /** A shuffle's numbers. */
  items: "ptr",
  spare: "i32",
  /** Four words that the routine may write to. */
  scratch0: "i32",
  scratch1: "i32",
  scratch2: "i32",
  scratch3: "i32",
});
const fields = randomTask.at;
export const GROUP_WORDS = 16;
const GROUP_BYTES = 4 * GROUP_WORDS;
/** The upper half of the counter's second word: a word that was refused is drawn anew from another block there. */
export const ATTEMPT_SHIFT = 16;

const multipliers = [0xd2511f53, 0xcd9e8d57] as const;
const keySteps = [0x9e3779b9, 0xbb67ae85] as const;
const ROUNDS = 10;

/** The same function in JavaScript: four words from four words and a key. For making streams, not numbers. */
export function philox(counter: readonly number[], key: readonly number[]): number[] {
  let [a, b, c, d] = counter;
  for (let round = 0; round < ROUNDS; round++) {
    const [p, q] = [BigInt(a >>> 0) * BigInt(multipliers[0]), BigInt(c >>> 0) * BigInt(multipliers[1])];
    const half = (x: bigint) => Number(BigInt.asUintN(32, x));
    const [k0, k1] = key.map((k, i) => k + Math.imul(round, keySteps[i]));
    [a, b, c, d] = [(half(q >> 32n) ^ b ^ k0) >>> 0, half(q), (half(p >> 32n) ^ d ^ k1) >>> 0, half(p)];
  }
  return [a, b, c, d];
}

/* The words -------------------------------------------------------------------------------------------- */

const evenWords = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];
const oddWords = evenWords.map((byte) => byte + 4);
const blockParams = { at: "i32", c0: "i32", c1: "i32", c2: "i32", c3: "i32", k0: "i32", k1: "i32" } as const;

/** block(at, counter, key): one block of four words in scalar code. */
function emitBlock(module: ModuleBuilder): FuncBuilder {
  const f = module.func("block", blockParams);
  const [at, ...state] = f.params;
  const [x, k] = [state.slice(0, 4), state.slice(4)];
  const products = [f.local("i64", "p"), f.local("i64", "q")];
  const high = (p: Local) => f.get(p).i64(32).op("i64.shr_u").op("i32.wrap_i64");
  for (let round = 0; round < ROUNDS; round++) {
    products.forEach((p, i) => {
      f.get(x[2 * i])
        .op("i64.extend_i32_u")
        .i64(multipliers[i])
        .op("i64.mul")
        .set(p);
    });
    high(products[1]).get(x[1]).op("i32.xor").get(k[0]).op("i32.xor").set(x[0]);
    high(products[0]).get(x[3]).op("i32.xor").get(k[1]).op("i32.xor").set(x[2]);
    f.get(products[1]).op("i32.wrap_i64").set(x[1]);
    f.get(products[0]).op("i32.wrap_i64").set(x[3]);
    k.forEach((key, i) => {
      f.get(key)
        .i32(keySteps[i] | 0)
        .op("i32.add")
        .set(key);
    });
  }
  x.forEach((word, i) => {
    f.get(at)
      .get(word)
      .store("i32.store", 4 * i);
  });
  return f;
}

/** words(at, groups, counter, key): groups of four blocks, one after the other. */
function emitWords(module: ModuleBuilder, simd: boolean, block: FuncBuilder): FuncBuilder {
  const f = module.func("words", { ...blockParams, groups: "i32" });
  const [at, c0, c1, c2, c3, k0, k1, groups] = f.params;
  const next = (by: number) => f.get(at).i32(by).op("i32.add").set(at);
  if (!simd) {
    f.get(groups).i32(2).op("i32.shl").set(groups);
    f.loop((again) => {
      for (const p of [at, c0, c1, c2, c3, k0, k1]) f.get(p);
      f.call(block);
      f.get(c0).i32(1).op("i32.add").set(c0);
      next(16);
      f.get(groups).i32(1).op("i32.sub").tee(groups).brIf(again);
    });
    return f;
  }
  const splat = (p: Local, step = 0) => {
    const local = f.local("v128");
    f.get(p).i32(step).op("i32.add").op("i32x4.splat").set(local);
    return local;
  };
  const keys = Array.from({ length: ROUNDS }, (_, round) =>
    [k0, k1].map((k, i) => splat(k, Math.imul(round, keySteps[i]))),
  );
  const factors = multipliers.map((m) => {
    const local = f.local("v128");
    f.v128(i32x4(m | 0)).set(local);
    return local;
  });
  const rest = [splat(c1), splat(c2), splat(c3)];
  const first = splat(c0);
  f.get(first)
    .v128(i32x4(0, 1, 2, 3))
    .op("i32x4.add")
    .set(first);
  const four = f.local("v128");
  f.v128(i32x4(4)).set(four);
  const x = Array.from({ length: 4 }, () => f.local("v128"));
  const [low, high] = [f.local("v128"), f.local("v128")];
  const parts = Array.from({ length: 4 }, () => f.local("v128"));
  f.loop((again) => {
    [first, ...rest].forEach((from, i) => {
      f.get(from).set(x[i]);
    });
    for (const key of keys) {
      factors.forEach((factor, i) => {
        f.get(x[2 * i])
          .get(factor)
          .op("i64x2.extmul_low_i32x4_u")
          .set(low);
        f.get(x[2 * i])
          .get(factor)
          .op("i64x2.extmul_high_i32x4_u")
          .set(high);
        f.get(low)
          .get(high)
          .shuffle(evenWords)
          .set(parts[2 * i]);
        f.get(low)
          .get(high)
          .shuffle(oddWords)
          .set(parts[2 * i + 1]);
      });
      const [low0, high0, low1, high1] = parts;
      f.get(high1).get(x[1]).op("v128.xor").get(key[0]).op("v128.xor").set(x[0]);
      f.get(high0).get(x[3]).op("v128.xor").get(key[1]).op("v128.xor").set(x[2]);
      f.get(low1).set(x[1]);
      f.get(low0).set(x[3]);
    }
    // Lane l of register w is word w of block l.
    transpose32(f, x).forEach((words, i) => {
      f.get(at)
        .get(words)
        .store("v128.store", 16 * i);
    });
    f.get(first).get(four).op("i32x4.add").set(first);
    next(GROUP_BYTES);
    f.get(groups).i32(1).op("i32.sub").tee(groups).brIf(again);
  });
  return f;
}

/* Words into numbers ----------------------------------------------------------------------------------- */

type Float = "f32" | "f64";

/** The algebra of one float dtype: its bits come as signed integers of the same size. */
class Draw {
  readonly b = new Builder();
  readonly d: Float;
  readonly int: "i32" | "i64";

  constructor(d: Float) {
    this.d = d;
    this.int = d === "f32" ? "i32" : "i64";
  }
  c = (value: number): Id => this.b.constant(this.d, this.d === "f32" ? Math.fround(value) : value);
  i = (value: bigint): Id => this.b.constant(this.int, this.int === "i32" ? Number(value) : value);
  bits = (index: number): Id => this.b.input(index, this.int);
  param = (index: number): Id => this.b.param(index, this.d);
  mul = (x: Id, y: Id): Id => this.b.op("mul", x, y);
  add = (x: Id, y: Id): Id => this.b.op("add", x, y);

  /** The upper 52 bits as a fraction on top of 1. */
  #onOne(bits: Id): Id {
    const fraction = this.b.op("shru", bits, this.i(12n));
    return this.b.bitcast("f64", this.b.op("bitOr", fraction, this.i(0x3ffn << 52n)));
  }
  /** [0, 1), every step of 2^-24 or 2^-52 as likely as any other. */
  unit(bits: Id): Id {
    if (this.d === "f64") return this.b.op("sub", this.#onOne(bits), this.c(1));
    return this.mul(this.b.cast("f32", this.b.op("shru", bits, this.i(8n))), this.c(2 ** -24));
  }
  /** (0, 1], for logarithms: as small as 2^-33 or 2^-53. */
  positive(bits: Id): Id {
    if (this.d === "f64") return this.b.op("sub", this.#onOne(bits), this.c(1 - 2 ** -53));
    return this.add(
      this.mul(this.b.cast("f32", this.b.cast("u32", bits)), this.c(2 ** -32)),
      this.c(2 ** -33),
    );
  }
  /** -log of that. */
  exponential(bits: Id): Id {
    return this.b.op("neg", this.b.op("log", this.positive(bits)));
  }
  /** [-1/2, 1/2), from all bits but the first two. */
  centred(bits: Id): Id {
    const rest = this.b.op("shl", bits, this.i(2n));
    if (this.d === "f32") return this.mul(this.b.cast("f32", rest), this.c(2 ** -32));
    // A whole number below 2^51 is the end of the mantissa of 1.5·2^52 plus it.
    const magic = 1.5 * 2 ** 52;
    const whole = this.b.op("shr", rest, this.i(13n));
    const moved = this.add(whole, this.b.bitcast("i64", this.c(magic)));
    return this.mul(this.b.op("sub", this.b.bitcast("f64", moved), this.c(magic)), this.c(2 ** -51));
  }
  /** Σ (-1)^j·x^(2j + from) / (2j + from)!: sine (from 1) or cosine (from 0) of |x| ≤ π/4. */
  series(x: Id, from: 0 | 1): Id {
    const square = this.mul(x, x);
    const last = this.d === "f32" ? 10 : 18;
    let sum: Id | null = null;
    for (let n = last + from; n >= from; n -= 2) {
      const term = this.c((-1) ** ((n - from) / 2) / factorial(n));
      sum = sum === null ? term : this.add(this.mul(sum, square), term);
    }
    return from === 0 ? sum! : this.mul(sum!, x);
  }
}

const factorial = (n: number): number => (n < 2 ? 1 : n * factorial(n - 1));

/** low + width·u, and never beyond the last number below high. */
function uniform(t: Draw): Id {
  const spread = t.add(t.mul(t.unit(t.bits(0)), t.param(1)), t.param(0));
  return t.b.op("pmin", spread, t.param(2));
}

const exponential = (t: Draw): Id => t.mul(t.exponential(t.bits(0)), t.param(0));

/**
 * Box and Muller's transform: a radius sqrt(-2·log u) and a direction make two normal numbers. The direction is one
 * within π/4 of the axis, which two bits then turn: one swaps the coordinates, one their signs. The two results are
 * carried by a subtraction that is never computed.
 */
function normal(t: Draw): Id {
  const { b } = t;
  const twice = t.mul(t.exponential(t.bits(0)), t.c(2));
  const radius = t.mul(b.op("sqrt", twice), t.param(1));
  const turn = t.bits(1);
  const angle = t.mul(t.centred(turn), t.c(Math.PI / 2));
  const [sine, cosine] = [t.series(angle, 1), t.series(angle, 0)];
  const width = t.int === "i32" ? 32n : 64n;
  const swap = b.op("ne", b.op("bitAnd", turn, t.i(1n << (width - 2n))), t.i(0n));
  const sign = b.op("bitAnd", turn, t.i(-(1n << (width - 1n))));
  const signed = (x: Id) => b.bitcast(t.d, b.op("bitXor", b.bitcast(t.int, x), sign));
  const along = (x: Id, y: Id) => t.add(t.mul(signed(b.op("select", swap, y, x)), radius), t.param(0));
  return b.op("sub", along(cosine, sine), along(sine, cosine));
}

interface Transform {
  readonly program: Program;
  /** Each register's numbers, of one word or of two that lie a register apart. */
  readonly results: readonly Id[];
}

function transformOf(distribution: "uniform" | "normal" | "exponential", d: Float): Transform {
  const t = new Draw(d);
  const result = { uniform, normal, exponential }[distribution](t);
  const inputs: DType[] = distribution === "normal" ? [t.int, t.int] : [t.int];
  const program = optimize(t.b.finish(result, inputs, [d, d, d]), { fma: false });
  const results = distribution === "normal" ? program.nodes[program.result].args : [program.result];
  return { program, results };
}

/** numbers(d, at, groups): the words at `at` become numbers, in place. */
function emitNumbers(module: ModuleBuilder, simd: boolean, d: Float, transform: Transform): FuncBuilder {
  const f = module.func("numbers", { d: "i32", at: "i32", groups: "i32" });
  const [task, at, left] = f.params;
  const { program, results } = transform;
  const context: CodeContext = { f, program, fma: false, slow: slowFunctions(module) };
  const scalar = new ScalarCode(context);
  const isFixed: boolean[] = [];
  const carrier = results.length > 1 ? program.result : -1;
  program.nodes.forEach((node, id) => {
    isFixed[id] = node.op !== "input" && node.args.every((a) => isFixed[a]);
    if (!isFixed[id]) return;
    scalar.emit(id, () => {
      if (node.op === "param") loadScalar(f.get(task), d, 4 * (fields.own0 + 2 * node.index));
    });
  });
  const each = (visit: (id: Id) => void) => {
    program.nodes.forEach((_, id) => {
      if (!isFixed[id] && id !== carrier) visit(id);
    });
  };
  const advance = (by: number) => f.get(at).i32(by).op("i32.add").set(at);
  const again = (label: Label) => f.get(left).i32(1).op("i32.sub").tee(left).brIf(label);
  if (simd) {
    const code = new VectorCode(context);
    program.nodes.forEach((_, id) => {
      if (isFixed[id]) code.splat(id, scalar.value(id, true));
    });
    f.loop((next) => {
      const words = [0, 16, 32, 48].map((offset) => {
        const local = f.local("v128");
        f.get(at).load("v128.load", offset).set(local);
        return local;
      });
      // Of a pair, the first lies in every other register.
      const own = (index: number) => words.filter((_, r) => r % results.length === index);
      each((id) => {
        const node = program.nodes[id];
        if (node.op === "input") code.define(id, own(node.index));
        else code.emit(id);
      });
      results.forEach((id, index) => {
        code.regs(id).forEach((reg, r) => {
          f.get(at)
            .get(reg)
            .store("v128.store", 16 * (r * results.length + index));
        });
      });
      advance(GROUP_BYTES);
      again(next);
    });
    return f;
  }
  const { bytes } = dtypes[d];
  const lane = f.local("i32", "lane");
  f.get(left)
    .i32(4 / results.length)
    .op("i32.mul")
    .set(left);
  f.loop((next) => {
    f.i32(16 / bytes).set(lane);
    f.loop((nextLane) => {
      each((id) => {
        scalar.emit(id, (node) => loadScalar(f.get(at), node.dtype, 16 * (node as InputNode).index));
      });
      results.forEach((id, index) => {
        storeScalar(f.get(at).get(scalar.value(id, true)), d, 16 * index);
      });
      advance(bytes);
      f.get(lane).i32(1).op("i32.sub").tee(lane).brIf(nextLane);
    });
    if (results.length > 1) advance(16);
    again(next);
  });
  return f;
}

/* Whole numbers below a bound --------------------------------------------------------------------------- */

/** Pushes the counter and the key of word `index` of the task, at an attempt. */
function pushPlace(f: FuncBuilder, task: Local, index: Local, attempt: Local): void {
  const word = (w: number) => f.get(task).load("i32.load", 4 * w);
  word(fields.low).get(index).i32(2).op("i32.shr_u").op("i32.add");
  word(fields.low + 1)
    .get(attempt)
    .i32(ATTEMPT_SHIFT)
    .op("i32.shl")
    .op("i32.or");
  for (let w = 2; w < 6; w++) word(fields.low + w);
}

/** below(d, index, word, bound): the word made a number below the bound. */
function emitBelow(module: ModuleBuilder, block: Callable): FuncBuilder {
  const f = module.func("below", { d: "i32", index: "i32", word: "i32", bound: "i32" }, ["i32"]);
  const [task, index, word, bound] = f.params;
  const product = f.local("i64", "product");
  const attempt = f.local("i32", "attempt");
  // Lemire's method: the upper half of word · bound. Lower halves below 2^32 mod bound would make some numbers likelier.
  f.loop((again) => {
    f.get(word).op("i64.extend_i32_u").get(bound).op("i64.extend_i32_u").op("i64.mul").set(product);
    f.get(product).op("i32.wrap_i64").get(bound).op("i32.lt_u");
    f.if(() => {
      f.get(product).op("i32.wrap_i64").i32(0).get(bound).op("i32.sub").get(bound).op("i32.rem_u");
      f.op("i32.lt_u").if(() => {
        f.get(attempt).i32(1).op("i32.add").set(attempt);
        f.get(task)
          .i32(4 * fields.scratch0)
          .op("i32.add");
        pushPlace(f, task, index, attempt);
        f.call(block);
        f.get(task).get(index).i32(3).op("i32.and").i32(2).op("i32.shl").op("i32.add");
        f.load("i32.load", 4 * fields.scratch0).set(word);
        f.br(again);
      });
    });
  });
  return f.get(product).i64(32).op("i64.shr_u").op("i32.wrap_i64");
}

/** numbers(d, at, groups): every word in place; the bound is the task's parameter. */
function emitBounded(module: ModuleBuilder, simd: boolean, block: FuncBuilder): FuncBuilder {
  const below = emitBelow(module, block);
  const f = module.func("numbers", { d: "i32", at: "i32", groups: "i32" });
  const [task, at, groups] = f.params;
  const index = f.local("i32", "index");
  const bound = f.local("i32", "bound");
  f.get(task)
    .load("i32.load", 4 * fields.own0)
    .set(bound);
  f.get(groups).i32(4).op("i32.shl").set(groups);
  const single = (lane: number) => {
    f.get(at);
    f.get(task)
      .get(index)
      .i32(lane)
      .op("i32.add")
      .get(at)
      .load("i32.load", 4 * lane);
    f.get(bound)
      .call(below)
      .store("i32.store", 4 * lane);
  };
  const [bounds, words, low, high] = simd ? Array.from({ length: 4 }, () => f.local("v128")) : [];
  if (simd) f.get(bound).op("i32x4.splat").set(bounds);
  f.loop((next) => {
    if (simd) {
      // Upper halves of the products; where a lower one is suspect, each word is looked at by itself.
      f.get(at).load("v128.load").tee(words).get(bounds).op("i64x2.extmul_low_i32x4_u").set(low);
      f.get(words).get(bounds).op("i64x2.extmul_high_i32x4_u").set(high);
      f.get(low).get(high).shuffle(evenWords).get(bounds).op("i32x4.lt_u").op("v128.any_true");
      f.if(
        () => [0, 1, 2, 3].forEach(single),
        () => f.get(at).get(low).get(high).shuffle(oddWords).store("v128.store"),
      );
    } else [0, 1, 2, 3].forEach(single);
    f.get(at).i32(16).op("i32.add").set(at);
    f.get(index).i32(4).op("i32.add").tee(index).get(groups).op("i32.lt_u").brIf(next);
  });
  return f;
}

/** The same on pairs of words: the bits that the bound has, drawn until they are below it. */
function emitWideBounded(module: ModuleBuilder, block: FuncBuilder): FuncBuilder {
  const f = module.func("numbers", { d: "i32", at: "i32", groups: "i32" });
  const [task, at, groups] = f.params;
  const index = f.local("i32", "index");
  const attempt = f.local("i32", "attempt");
  const [bound, mask, value] = ["bound", "mask", "value"].map((name) => f.local("i64", name));
  f.get(task)
    .load("i64.load", 4 * fields.own0)
    .tee(bound)
    .i64(1)
    .op("i64.sub")
    .op("i64.clz")
    .set(mask);
  f.i64(-1).get(mask).op("i64.shr_u").set(mask);
  f.get(groups).i32(4).op("i32.shl").set(groups);
  f.loop((next) => {
    f.i32(0).set(attempt);
    f.get(at).load("i64.load").get(mask).op("i64.and").set(value);
    f.block((done) => {
      f.loop((again) => {
        f.get(value).get(bound).op("i64.lt_u").brIf(done);
        f.get(attempt).i32(1).op("i32.add").set(attempt);
        f.get(task)
          .i32(4 * fields.scratch0)
          .op("i32.add");
        pushPlace(f, task, index, attempt);
        f.call(block);
        f.get(task).get(index).i32(2).op("i32.and").i32(2).op("i32.shl").op("i32.add");
        f.load("i64.load", 4 * fields.scratch0);
        f.get(mask).op("i64.and").set(value);
        f.br(again);
      });
    });
    f.get(at).get(value).store("i64.store");
    f.get(at).i32(8).op("i32.add").set(at);
    f.get(index).i32(2).op("i32.add").tee(index).get(groups).op("i32.lt_u").brIf(next);
  });
  return f;
}

/* Modules ---------------------------------------------------------------------------------------------- */

export const emitDraw =
  (distribution: Distribution, d: DrawDType) =>
  ({ shared, simd }: Host): ModuleBuilder => {
    const module = heapModule(shared);
    const block = emitBlock(module);
    const words = emitWords(module, simd, block);
    const numbers =
      distribution === "bits"
        ? null
        : distribution === "below"
          ? d === "u64"
            ? emitWideBounded(module, block)
            : emitBounded(module, simd, block)
          : emitNumbers(module, simd, d as Float, transformOf(distribution, d as Float));
    const f = module.func("run", { d: "i32" }, [], { export: true });
    const [task] = f.params;
    const word = (w: number) => f.get(task).load("i32.load", 4 * w);
    word(fields.at);
    for (let w = fields.low; w < fields.own0; w++) word(w);
    word(fields.groups).call(words);
    if (numbers !== null) {
      f.get(task);
      word(fields.at);
      word(fields.groups).call(numbers);
    }
    return module;
  };

/**
 * One piece of a shuffle of the numbers 0, 1, 2, …, as Fisher and Yates do it: number i takes the place of one of those
 * up to it, chosen by word i, which moves to place i. The words at `at` belong to numbers from `own0` on. Pieces go in
 * order, the first from 0.
 */
export function emitShuffle({ shared }: Host): ModuleBuilder {
  const module = heapModule(shared);
  const below = emitBelow(module, emitBlock(module));
  const { f, words } = randomTask.open(module);
  const [task] = f.params;
  const { at, groups: count, own0: first, items } = words;
  const [index, here, there] = ["index", "here", "there"].map((name) => f.local("i32", name));
  f.loop((next) => {
    f.get(items).get(first).get(index).op("i32.add").i32(2).op("i32.shl").op("i32.add").set(here);
    f.get(items);
    f.get(task).get(index).get(at).load("i32.load");
    f.get(first).get(index).op("i32.add").i32(1).op("i32.add").call(below);
    f.i32(2).op("i32.shl").op("i32.add").set(there);
    f.get(here).get(there).load("i32.load").store("i32.store");
    f.get(there).get(first).get(index).op("i32.add").store("i32.store");
    f.get(at).i32(4).op("i32.add").set(at);
    f.get(index).i32(1).op("i32.add").tee(index).get(count).op("i32.lt_u").brIf(next);
  });
  return module;
}
