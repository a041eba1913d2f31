/** What an njit function may not say, and what goes wrong when it runs: the texts that users see. */
import { describe, expect, test } from "vitest";
import { memory, scope, TensorError, tensor, zeros } from "../../src/index.ts";
import { type Njit, type NjitValue, njit } from "../../src/njit/njit.ts";

type Fn = (...args: never[]) => unknown;
const fromText = (source: string): Fn => new Function(`return (${source})`)() as Fn;
const made = (source: string, captures = {}): Njit => njit(fromText(source), captures);

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof TensorError) return `(${error.code}) ${error.message}`;
    throw error;
  }
  return "no error";
}
const refusal = (source: string, captures = {}) => messageOf(() => made(source, captures));
const failure = (source: string, ...args: NjitValue[]) =>
  messageOf(() => scope(() => void made(source)(...args)));

describe("refused when it is read", () => {
  test("what has no place in numbers, booleans and arrays", () => {
    expect(refusal("(a) => ({ x: 1 })")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile an object; njit computes with numbers, booleans and arrays.
        (a) => ({ x: 1 })
                ^^^^^^^^
        Use one variable a field, or a tensor."
    `);
    expect(refusal("(a) => { try { a.set([0], 1); } catch {} }")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile \`try\`; njit computes with numbers, booleans and arrays.
        (a) => { try { a.set([0], 1); } catch {} }
                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        An njit function throws nothing that it could catch."
    `);
    expect(refusal("(a) => 'x' + a")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile a string; njit computes with numbers, booleans and arrays.
        (a) => 'x' + a
               ^^^"
    `);
    expect(refusal("async (a) => 1")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile an async function; a kernel computes one number at once.
        async (a) => 1
        ^^^^^^^^^^^^^^"
    `);
    expect(refusal("(a) => { switch (a) { case 1: return 2; } return 3; }")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile \`switch\`; njit computes with numbers, booleans and arrays.
        (a) => { switch (a) { case 1: return 2; } return 3; }
                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        Write if … else if … else."
    `);
    expect(refusal("(a) => { throw 3; }")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile \`throw\`; njit computes with numbers, booleans and arrays.
        (a) => { throw 3; }
                 ^^^^^^^^
        Return a number that says what happened, and throw where it was called."
    `);
    expect(refusal("(a) => { const w = new Float64Array(a); return w[0]; }")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile \`new\`; njit computes with numbers, booleans and arrays.
        (a) => { const w = new Float64Array(a); return w[0]; }
                           ^^^^^^^^^^^^^^^^^^^
        A small array may be new Float64Array(8), with a literal length; others are arguments."
    `);
    expect(refusal("(a) => { const w = new Float64Array(5000); return w[0]; }")).toMatchInlineSnapshot(`
      "(kernel) njit: a local array of 5000 elements is too large; the limit is 1024.
        (a) => { const w = new Float64Array(5000); return w[0]; }
                           ^^^^^^^^^^^^^^^^^^^^^^
        Pass a tensor to work in."
    `);
  });

  test("names from outside, which build tools rename", () => {
    expect(refusal("(a) => { for (const i of prange(3)) a.set([i], 1); }")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile this \`for … of\`; only prange(…) can be iterated over.
        (a) => { for (const i of prange(3)) a.set([i], 1); }
                                 ^^^^^^^^^
        Count: for (let i = 0; i < n; i++), or take prange from the last parameter: (…, { prange }) => …."
    `);
    expect(refusal("(a) => limit * 2")).toMatchInlineSnapshot(`
      "(kernel) njit: the function reads the outer variable "limit".
        (a) => limit * 2
               ^^^^^
        Build tools rename outer variables, so they are passed by name: njit((…, { limit }) => …, { limit })."
    `);
    expect(refusal("(a, { limit }) => limit * 2")).toMatchInlineSnapshot(`
      "(kernel) njit: the function expects a captured value "limit".
        (a, { limit }) => limit * 2
              ^^^^^
        Pass it: njit(fn, { limit })."
    `);
    expect(refusal("(a) => a", { limit: 3 })).toMatchInlineSnapshot(`
      "(kernel) njit: the captured "limit" is not named in the last parameter.
        (a) => a
         ^
        Name what is captured there: (…, { limit }) => …"
    `);
    expect(refusal("(a) => { total = a; }")).toMatchInlineSnapshot(`
      "(kernel) njit: the function writes the outer variable "total".
        (a) => { total = a; }
                 ^^^^^
        Return the value, or write it into a tensor."
    `);
    expect(refusal("(a, { s }) => s", { s: "text" })).toMatchInlineSnapshot(`
      "(kernel) njit: captured "s" is the string "text"; captured values are numbers, bigints, booleans, functions, kernels, tensors and typed arrays.
        (a, { s }) => s
              ^"
    `);
  });

  test("loops that cannot be split", () => {
    const loop = (body: string) => refusal(`(a, { prange }) => { for (const i of prange(3)) { ${body} } }`);
    expect(loop("if (i > 1) break;")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot leave a prange loop early; its iterations run in no particular order.
        (a, { prange }) => { for (const i of prange(3)) { if (i > 1) break; } }
                                                                     ^^^^^^
        Write a plain for loop, or let the other iterations find nothing to do."
    `);
    expect(loop("if (i > 1) return;")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot return from a prange loop; its iterations run in no particular order.
        (a, { prange }) => { for (const i of prange(3)) { if (i > 1) return; } }
                                                                     ^^^^^^^
        Write a plain for loop, or keep what was found in a variable: best = Math.min(best, i)."
    `);
    expect(refusal("(a) => { for (const x of a) a.set([0], x); }")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile this \`for … of\`; only prange(…) can be iterated over.
        (a) => { for (const x of a) a.set([0], x); }
                                 ^
        Count: for (let i = 0; i < n; i++), or take prange from the last parameter: (…, { prange }) => …."
    `);
  });

  test("calls of what is not known, and of itself", () => {
    expect(refusal("(a) => a.get(0).toFixed(2)")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile the property .toFixed here.
        (a) => a.get(0).toFixed(2)
               ^^^^^^^^^^^^^^^^
        Arrays have get, set, shape, size, rank and length; numbers and functions have nothing."
    `);
    expect(
      refusal("(a) => { const f = (n) => (n < 1 ? 1 : n * f(n - 1)); return f(5); }"),
    ).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile a function that calls itself.
        (a) => { const f = (n) => (n < 1 ? 1 : n * f(n - 1)); return f(5); }
                                                   ^^^^^^^^
        Write a loop, with a small array as a stack."
    `);
    expect(refusal("(a) => Math.random()")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile Math.random.
        (a) => Math.random()
               ^^^^^^^^^^^^^
        Pass a tensor of random numbers: random.uniform(shape)."
    `);
    expect(refusal("(a) => a.sum()")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile .sum; arrays have get, set, shape, size and rank here, typed arrays [i] and length.
        (a) => a.sum()
               ^^^^^
        Write a loop."
    `);
    expect(refusal("(a) => a.fill(0)")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile .fill(); write a loop.
        (a) => a.fill(0)
               ^^^^^^^^^"
    `);
  });

  test("of itself by its own name, and of a function with captured values", () => {
    const rec = fromText("function rec(n) { return n < 2 ? 1 : rec(n - 1); }");
    expect(messageOf(() => njit(rec))).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile a function that calls itself.
        function rec(n) { return n < 2 ? 1 : rec(n - 1); }
                                             ^^^
        Write a loop, with a small array as a stack."
    `);
    expect(refusal("(n, { rec }) => rec(n)", { rec })).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile a function that calls itself.
        function rec(n) { return n < 2 ? 1 : rec(n - 1); }
                                             ^^^
        Write a loop, with a small array as a stack."
    `);
    const own = fromText("function (n, { own }) { return n < 2 ? 1 : own(n - 1); }");
    expect(messageOf(() => njit(own, { own }))).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile a function that calls itself.
        function (n, { own }) { return n < 2 ? 1 : own(n - 1); }
                       ^^^
        Write a loop, with a small array as a stack."
    `);
    expect(refusal("(n, { f }) => f(n)", { f: fromText("(n, { k }) => n * k") })).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile this parameter; a function that is called has plain names.
        (n, { k }) => n * k
            ^^^^^
        Captured values are named by the function that calls it: pass them as arguments."
    `);
  });

  test("what the language or its host has, which cannot be passed", () => {
    expect(refusal("function (n) { return arguments[0]; }")).toMatchInlineSnapshot(`
      "(kernel) njit: the function reads "arguments", which njit does not know.
        function (n) { return arguments[0]; }
                              ^^^^^^^^^
        Name the parameters: (a, b) => …"
    `);
    expect(refusal("(n) => parseInt(n)")).toMatchInlineSnapshot(`
      "(kernel) njit: the function reads "parseInt", which njit does not know.
        (n) => parseInt(n)
               ^^^^^^^^
        A number is cut by Math.trunc(x)."
    `);
    expect(refusal("(n) => n + Date.now()")).toMatchInlineSnapshot(`
      "(kernel) njit: the function reads "Date", which njit does not know.
        (n) => n + Date.now()
                   ^^^^
        Take the time before the call, and pass it as a number."
    `);
    expect(refusal("(n) => n + BigInt")).toMatchInlineSnapshot(`
      "(kernel) njit: the function reads "BigInt", which njit does not know.
        (n) => n + BigInt
                   ^^^^^^
        Call it: BigInt(x), BigInt.asIntN(64, x)."
    `);
  });

  test("arrays that are chosen, kept, made longer or given back, with what to do instead", () => {
    expect(refusal("(a, b, k) => { const c = k ? a : b; return c[0]; }")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile this property; elements are taken from arguments and local arrays.
        (a, b, k) => { const c = k ? a : b; return c[0]; }
                                                   ^^^^
        A variable holds no array: choose between elements, c ? a[i] : b[i], or write if … else."
    `);
    expect(
      failure("(a, b) => a[0] > 0 ? a : b", new Float64Array(1), new Float64Array(1)),
    ).toMatchInlineSnapshot(`
      "(kernel) njit: this chooses between arrays.
        (a, b) => a[0] > 0 ? a : b
                  ^^^^^^^^^^^^^^^^
        Choose between their elements, c ? a[i] : b[i], or write if … else."
    `);
    expect(refusal("(n) => { const w = [1]; w.push(n); return w[0]; }")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile .push; arrays have get, set, shape, size and rank here, typed arrays [i] and length.
        (n) => { const w = [1]; w.push(n); return w[0]; }
                                ^^^^^^
        An array keeps its length: write into an element, w[n] = x, and count how many there are."
    `);
    expect(refusal("(n) => { const w = [1, n]; return w; }")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot return an array of the function's own.
        (n) => { const w = [1, n]; return w; }
                                          ^
        Return its elements, [w[0], w[1]], or write them into an argument."
    `);
    expect(refusal("(a) => { const [h, ...rest] = a.shape; return h; }")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile this declaration; declare plain names.
        (a) => { const [h, ...rest] = a.shape; return h; }
                           ^^^^^^^
        Take what it holds one by one: const h = a.shape[0]."
    `);
    expect(refusal("(a) => typeof a")).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile \`typeof\`.
        (a) => typeof a
               ^^^^^^^^
        Decide before the call: make a function for each kind."
    `);
  });

  test("prange without a loop, or downwards", () => {
    expect(refusal("(n, { prange }) => { const r = prange(n); return 1; }")).toMatchInlineSnapshot(`
      "(kernel) njit: prange is for loops.
        (n, { prange }) => { const r = prange(n); return 1; }
                                       ^^^^^^^^^
        Write for (const i of prange(n)) …, at the loop itself."
    `);
    expect(
      refusal("(a, { prange }) => { for (const i of prange(9, 0, -1)) a[i] = 1; }"),
    ).toMatchInlineSnapshot(`
      "(kernel) njit: the step of prange is a literal above 0.
        (a, { prange }) => { for (const i of prange(9, 0, -1)) a[i] = 1; }
                                                          ^^
        Count upwards, and turn it round inside: const j = n - 1 - i; or write a plain for loop."
    `);
  });

  test("indices that are never right, and assignments to constants", () => {
    expect(refusal("(a) => a.get(-1)")).toMatchInlineSnapshot(`
      "(kernel) njit: the index -1 is no index; they count from 0.
        (a) => a.get(-1)
                     ^^
        The last element is at a.shape[0] - 1."
    `);
    expect(refusal("(a) => a.get(0.5)")).toMatchInlineSnapshot(`
      "(kernel) njit: the index 0.5 is no index; they count from 0.
        (a) => a.get(0.5)
                     ^^^
        The last element is at a.shape[0] - 1."
    `);
    expect(refusal("(a) => { const x = a.get(0); x = 3; return x; }")).toMatchInlineSnapshot(`
      "(kernel) njit: the function assigns to "x", which is constant.
        (a) => { const x = a.get(0); x = 3; return x; }
                                     ^"
    `);
    expect(refusal("(a) => a.set(0, 3)")).toMatchInlineSnapshot(`
      "(kernel) njit: set takes a list of indices and a value.
        (a) => a.set(0, 3)
               ^^^^^^^^^^^
        Write a.set([i, j], value)."
    `);
  });

  test("not every path returns alike", () => {
    expect(refusal("(n) => { if (n > 0) return [1, 2]; return 3; }")).toMatchInlineSnapshot(`
      "(kernel) njit: not every path returns the same number of values.
        (n) => { if (n > 0) return [1, 2]; return 3; }
                                                  ^
        Return one value, several, or none, on every path."
    `);
  });

  test("a function that returns a value and may end without one", () => {
    expect(refusal("(n) => { if (n > 2) return 1; }")).toMatchInlineSnapshot(`
      "(kernel) njit: the function may end here without a value, and returns one elsewhere.
        (n) => { if (n > 2) return 1; }
                                      ^
        Return a value at the end too: return -1."
    `);
    expect(
      refusal("(a) => { for (let i = 0; i < a.length; i++) if (a[i] > 1) return [i, a[i]]; }"),
    ).toMatchInlineSnapshot(`
      "(kernel) njit: the function may end here without a value, and returns one elsewhere.
        (a) => { for (let i = 0; i < a.length; i++) if (a[i] > 1) return [i, a[i]]; }
                                                                                    ^
        Return a value at the end too: return a list of 2."
    `);
    expect(
      failure("(n) => { const f = (x) => { if (x > 2) return 1; }; return f(n); }", 8),
    ).toMatchInlineSnapshot(`
      "(kernel) njit: this function may end here without a value, and its value is used.
        (n) => { const f = (x) => { if (x > 2) return 1; }; return f(n); }
                                                         ^
        Return a value here too: return -1."
    `);
    expect(failure("(n) => { let s; if (n > 2) s = 1; return s; }", 8)).toMatchInlineSnapshot(`
      "(kernel) njit: "s" may be read before it has a value.
        (n) => { let s; if (n > 2) s = 1; return s; }
                                                 ^
        Give it a start: let s = 0."
    `);
  });

  test.each([
    "if (n > 2) return 1; else if (n > 1) return 2;",
    "if (n > 2) return n > 3;",
    "if (n > 2) return 2n;",
    "while (n > 0) { n--; if (n === 5) return n; }",
    "while (true) { n--; if (n === 5) return n; if (n < 3) break; }",
    "a: while (true) { while (true) { n--; if (n === 5) return n; if (n < 3) break a; } }",
    "a: { if (n > 1) break a; return 2; }",
    "do { if (n === 2) continue; return n; } while (n < 1);",
    "for (let i = 0; i < 3; i++) return i;",
    "const f = () => { while (true) if (n > 3) return 1; else n++; }; if (f() > 3) return 2;",
  ])("its end can be reached: %s", (body) => {
    expect(refusal(`(n) => { ${body} }`)).toMatch(/may end here without a value/);
  });

  test("what is no function at all", () => {
    expect(messageOf(() => njit(3 as never))).toMatchInlineSnapshot(`
      "(value) njit: expected a function, got the number 3.
        Pass one, such as njit((out, a) => { … })."
    `);
    expect(messageOf(() => njit(Math.sqrt as never))).toMatchInlineSnapshot(`
      "(kernel) njit: cannot compile native or bound code; its source is hidden.
        function sqrt() { [native code] }
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        Wrap it: x => fn(x)."
    `);
    expect(messageOf(() => njit(((a: number) => a) as never, 3 as never))).toMatchInlineSnapshot(`
      "(value) njit: the options are the number 3.
        Give an object such as { table, limit: 3 }."
    `);
  });
});

describe("refused when it is called", () => {
  test("arguments of the wrong kind", () => {
    expect(failure("(a) => a.get(0)", 3)).toMatchInlineSnapshot(`
      "(value) njit: "a" is used as an array, and a scalar was given.
        (a) => a.get(0)
               ^^^^^^^^
        Pass a tensor or a typed array."
    `);
    expect(failure("(a) => a + 1", tensor([1]))).toMatchInlineSnapshot(`
      "(value) njit: "a" is used as a number, and an array was given.
        (a) => a + 1
               ^^^^^
        Take an element: a.get(i), a[i]; a variable holds no array."
    `);
    expect(failure("(a, n) => a.get(n)", tensor([1]))).toMatchInlineSnapshot(`
      "(value) njit: "n" was not given.
        (a, n) => a.get(n)
                        ^"
    `);
    expect(failure("(a) => a.get(0)", tensor([1]), 2)).toMatchInlineSnapshot(
      `"(value) njit: the function takes 1 argument, got 2."`,
    );
    expect(failure("(a) => a.get(0)", "x" as never)).toMatchInlineSnapshot(`
      "(value) njit: "a" is the string "x".
        Arguments are tensors, typed arrays, numbers, bigints and booleans."
    `);
    expect(failure("(a) => a.get(0)", new DataView(new ArrayBuffer(8)) as never)).toMatchInlineSnapshot(`
      "(value) njit: "a" is a DataView.
        Pass a typed array over its buffer."
    `);
    expect(failure("(a) => a[0]", tensor([1]))).toMatchInlineSnapshot(`
      "(kernel) njit: elements of a tensor are not taken with [ ].
        (a) => a[0]
               ^^^^
        Write a.get(i, j) and a.set([i, j], value)."
    `);
    expect(failure("(a) => a.get(0)", new Float64Array(1))).toMatchInlineSnapshot(`
      "(kernel) njit: a typed array has no get(…).
        (a) => a.get(0)
               ^^^^^^^^
        Write a[i], or pass a tensor."
    `);
    expect(failure("(a) => a.length", tensor([1]))).toMatchInlineSnapshot(`
      "(kernel) njit: a tensor has no length.
        (a) => a.length
               ^^^^^^^^
        Write a.size or a.shape[0]."
    `);
    expect(failure("(a) => a.get(0)", zeros([2, 2]))).toMatchInlineSnapshot(`
      "(index) njit: 1 index for an array of rank 2.
        (a) => a.get(0)
               ^^^^^^^^
        Give one index an axis."
    `);
    expect(failure("(a) => a.shape[2]", zeros([2, 2]))).toMatchInlineSnapshot(`
      "(axis) njit: there is no axis 2; the tensor has rank 2.
        (a) => a.shape[2]
               ^^^^^^^^^^"
    `);
    expect(failure("(n) => n", 2n ** 64n)).toMatchInlineSnapshot(`
      "(value) njit: "n" is 18446744073709551616n, which does not fit i64.
        Bigints have 64 bits here."
    `);
  });

  test("kinds that do not mix", () => {
    expect(failure("(n) => { let x = 0; if (n > 0) x = n > 1; return x; }", 1)).toMatchInlineSnapshot(`
      "(dtype) njit: "x" is a number and then a boolean; a variable keeps its kind.
        (n) => { let x = 0; if (n > 0) x = n > 1; return x; }
                                       ^
        Use two variables, or Number(x), BigInt(x) or x !== 0."
    `);
    expect(failure("(n) => n === true", 1)).toMatchInlineSnapshot(`
      "(dtype) njit: this compares a number and a boolean; they are never equal.
        (n) => n === true
               ^^^^^^^^^^
        Use ==, which compares a boolean as 0 or 1, or convert one of them."
    `);
    expect(failure("(b) => b ** 2n", 4n)).toMatchInlineSnapshot(`
      "(kernel) njit: there is no ** of bigints for njit.
        (b) => b ** 2n
               ^^^^^^^
        Multiply in a loop: p *= x; Number(x) makes a number."
    `);
    expect(failure("(b) => b >>> 2n", 4n)).toMatchInlineSnapshot(`
      "(kernel) njit: there is no >>> of bigints for njit.
        (b) => b >>> 2n
               ^^^^^^^^
        Bigints have + - * / % & | ^ ~ << >> and comparisons here; Number(x) makes a number."
    `);
    expect(failure("(b) => 1n + b / 0n", 4n)).toMatchInlineSnapshot(`
      "(value) njit: a bigint is divided by 0n. (line 1 of the function)
        (b) => 1n + b / 0n
                    ^^^^^^
        Ask before: b === 0n ? 0n : a / b."
    `);
    expect(failure("(x) => BigInt(x)", 1.5)).toMatchInlineSnapshot(`
      "(value) BigInt: 1.5 is no whole number of 64 bits. (line 1 of the function)
        (x) => BigInt(x)
               ^^^^^^^^^
        Write BigInt(Math.trunc(x)), of an x below 2^63."
    `);
    expect(failure("(x) => BigInt.asIntN(64, x)", 1)).toMatchInlineSnapshot(`
      "(dtype) njit: BigInt.asIntN takes a bigint, and this is a number.
        (x) => BigInt.asIntN(64, x)
               ^^^^^^^^^^^^^^^^^^^^
        Write BigInt.asIntN(64, BigInt(x))."
    `);
    expect(refusal("(x) => BigInt.asIntN(8, x)")).toMatchInlineSnapshot(`
      "(kernel) njit: bigints have 64 bits here.
        (x) => BigInt.asIntN(8, x)
                             ^
        Write BigInt.asIntN(64, x); for fewer: x & 255n."
    `);
    expect(
      failure("(a, b) => a.get(0) + b.get(0)", zeros([1], { dtype: "i64" }), zeros([1], { dtype: "u64" })),
    ).toMatchInlineSnapshot(`
      "(dtype) njit: this mixes i64 and u64.
        (a, b) => a.get(0) + b.get(0)
                  ^^^^^^^^^^^^^^^^^^^
        Convert one of the tensors first."
    `);
  });

  test("a read-only view, and a tensor that was disposed", () => {
    expect(failure("(a) => a.set([0], 1)", tensor([1]).broadcastTo([3]))).toMatchInlineSnapshot(`
      "(readonly) njit: this writes to a read-only view.
        (a) => a.set([0], 1)
               ^^^^^^^^^^^^^
        Pass a copy made with clone()."
    `);
    const gone = tensor([1]);
    gone.dispose();
    expect(failure("(a) => a.get(0)", gone)).toMatchInlineSnapshot(`
      "(disposed) njit: this tensor has been disposed.
        Its memory is free again. Keep it longer: dispose later, or return it from the scope that made it."
    `);
  });
});

describe("an index outside", () => {
  const source = `(a, n) => {
  let s = 0;
  for (let i = 0; i < n; i++) {
    s += a.get(i, 1);
  }
  return s;
}`;

  test("names the operation, the index, the axis, the size and the line", () => {
    expect(failure(source, zeros([2, 3]), 5)).toMatchInlineSnapshot(`
      "(index) get: index 2 is out of range for axis 0 of size 2. (line 4 of the function)
        s += a.get(i, 1);
             ^^^^^^^^^^^
        Use 0 … 1; an njit function counts from 0, and never from the end."
    `);
    expect(failure("(a, i) => a.set([i], 1)", zeros([4]), -1)).toMatchInlineSnapshot(`
      "(index) set: index -1 is out of range for axis 0 of size 4. (line 1 of the function)
        (a, i) => a.set([i], 1)
                  ^^^^^^^^^^^^^
        Use 0 … 3; an njit function counts from 0, and never from the end."
    `);
    expect(failure("(a, x) => a[x]", new Float64Array(4), 1.5)).toMatchInlineSnapshot(`
      "(index) element: index 1.5 is not a whole number for axis 0 of size 4. (line 1 of the function)
        (a, x) => a[x]
                  ^^^^
        Use 0 … 3; an njit function counts from 0, and never from the end."
    `);
    expect(failure("(a, x) => a[x]", new Float64Array(0), 0)).toMatchInlineSnapshot(`
      "(index) element: index 0 is out of range for axis 0 of size 0. (line 1 of the function)
        (a, x) => a[x]
                  ^^^^
        The axis is empty: it has no index."
    `);
  });

  test.each([
    ["get", "(a, i) => a.get(i)"],
    ["set", "(a, i) => { a.set([0], 5); a.set([i], 7); }"],
    ["in a loop", "(a, i) => { for (let k = 0; k <= i; k++) a.set([k], k); }"],
    [
      "in an inner loop",
      "(a, i) => { for (let t = 0; t < 2; t++) for (let k = 0; k <= i; k++) a.set([k], k); }",
    ],
    ["in a prange loop", "(a, i, { prange }) => { for (const k of prange(i + 1)) a.set([k], k); }"],
  ])("is the same error compiled as plain: %s", (_, text) => {
    const fn = made(text);
    for (const index of [
      4,
      -1,
      1.5,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      2 ** 31,
      2 ** 32,
      -(2 ** 31),
      1e300,
    ]) {
      scope(() => {
        if (text.includes("for") && !(index > 3 && index < 10)) return;
        const around = Array.from({ length: 3 }, () => zeros([4], { dtype: "f64" }));
        const [a, b] = [around[1], zeros([4], { dtype: "f64" })];
        const first = (message: string) =>
          message.split("\n")[0].replace(/ \(line \d+ of the function\)/, "");
        const compiled = messageOf(() => fn(a, index));
        expect(compiled).toMatch(/^\(index\)/);
        expect(first(compiled)).toBe(first(messageOf(() => fn.plain(b, index))));
        // What was written stays written, and nothing else is.
        expect(a.toArray()).toEqual(b.toArray());
        expect([around[0].toArray(), around[2].toArray()]).toEqual([
          [0, 0, 0, 0],
          [0, 0, 0, 0],
        ]);
      });
    }
  });

  test("leaves nothing behind, and the next call works", () => {
    const fn = made("(out, n) => { for (let i = 0; i < n; i++) out[i] = 1; }");
    const before = memory();
    const out = new Float64Array(3);
    expect(() => fn(out, 9)).toThrow(TensorError);
    expect([...out]).toEqual([1, 1, 1]);
    fn(out, 2);
    expect([memory().tensors, memory().bytes]).toEqual([before.tensors, before.bytes]);
  });

  test("one that is computed of constants fails where it is used, not when it is read", () => {
    const fn = made("(a, n, { k }) => { let s = 0; if (n > 2) s = a.get(k - 1); return s + a.get(k); }", {
      k: 0,
    });
    expect(fn(tensor([5, 6]), 1)).toBe(5);
    expect(() => fn(tensor([5, 6]), 3)).toThrow(/index -1 is out of range/);
    expect(() => fn.plain(tensor([5, 6]), 3)).toThrow(/index -1 is out of range/);
    expect(() => made("(a) => { const k = -1; return a.get(k); }")(tensor([5]))).toThrow(
      /get: index -1 is out of/,
    );
  });

  test("-0 is the index 0", () => {
    expect(made("(a, i) => a.get(i)")(tensor([5, 6]), -0)).toBe(5);
    expect(made("(a, i) => a.get(i)").plain(tensor([5, 6]), -0)).toBe(5);
  });
});
