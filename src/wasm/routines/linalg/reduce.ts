/**
 * Reductions to two diagonals by Householder reflections, and plane rotations of rows.
 *
 *     emitTridiagonal   a symmetric matrix, for eigenvalues
 *     emitBidiagonal    a square matrix, for singular values
 *     emitRotations     a list of rotations, each of two rows
 *
 * Both reductions read a matrix once or twice a step: the update that a step leaves behind is done when the next one
 * reads the rows.
 */
import type { FuncBuilder, Local, ModuleBuilder } from "../../assembler/assembler.ts";
import { heapModule } from "../../kit.ts";
import { bump, repeat } from "../../product/lanes.ts";
import { task } from "../../task.ts";
import {
  emitAxpy,
  emitDot,
  emitReflect,
  emitScale,
  type Lanes,
  type LinalgDType,
  type LinalgOptions,
  lanesOf,
  narrow,
  Sums,
  stream,
  widen,
  wideOf,
} from "./kit.ts";

/**
 * a: symmetric, both triangles. Becomes Vᵀ: row k is the vector of reflection k, zeros and the 1 at k + 1 included.
 * d, e, tau: n f64 each. space: 2·n elements and 16 bytes.
 */
export const tridiagonalTask = task({
  a: "ptr",
  aRow: "i32",
  n: "i32",
  d: "ptr",
  e: "ptr",
  tau: "ptr",
  space: "ptr",
});

export const emitTridiagonal =
  (dtype: LinalgDType) =>
  (options: LinalgOptions): ModuleBuilder => {
    const m = heapModule(options.shared);
    const lanes = lanesOf(dtype, options.simd);
    const { bytes, one } = lanes;
    const [axpy, dot, reflect] = [emitAxpy(m, lanes), emitDot(m, lanes), emitReflect(m, lanes)];
    const rowStep = emitSymmetricRow(m, lanes);
    const { f, words: word } = tridiagonalTask.open(m);
    const { a, aRow, n, d, e, tau, space } = word;
    const i32 = (name: string) => f.local("i32", name);
    /* All of these point at element k + 1 (`row`, `v`, `w`, `p`) of what they name. */
    const [row, v, w, p, left, pair, at, vAt, wAt, pAt] = "row v w p left pair at vAt wAt pAt"
      .split(" ")
      .map(i32);
    const [t, alpha] = [f.local(lanes.dtype, "t"), f.local(lanes.dtype, "alpha")];
    const held = i32("held");
    f.get(space)
      .get(n)
      .i32(2 * bytes)
      .op("i32.mul")
      .op("i32.add")
      .set(pair);
    f.get(space)
      .i32(0)
      .get(n)
      .i32(2 * bytes)
      .op("i32.mul")
      .op("memory.fill");
    f.get(space).set(w);
    f.get(space).get(n).i32(bytes).op("i32.mul").op("i32.add").set(p);
    f.get(a).set(row).get(a).set(v).get(n).set(left);
    /** row -= v[at]·w + w[at]·v, with v and w at the same column as the row. */
    const times = (pointer: Local) => f.get(pointer).load(one.load).op(`${lanes.dtype}.neg`);
    repeat(f, n, () => {
      // Row k, from its diagonal on.
      f.get(left);
      times(v).get(w).get(row).call(axpy);
      f.get(left);
      times(w).get(v).get(row).call(axpy);
      f.get(d);
      widen(f.get(row).load(one.load), lanes).store("f64.store");
      for (const pointer of [row, v, w, p]) bump(f, pointer, bytes);
      bump(f, left, -1);
      f.get(left).if(() => {
        f.get(left).get(row).i32(bytes).get(pair).call(reflect);
        f.get(tau).get(pair).load("f64.load").store("f64.store");
        f.get(e).get(pair).load("f64.load", 8).store("f64.store");
        f.get(pair).load("f64.load");
        narrow(f, lanes).set(t);
        f.get(row).set(at).get(v).set(vAt).get(w).set(wAt).get(p).set(pAt);
        repeat(f, left, () => {
          bump(f, at, aRow);
          f.get(pAt).get(left).get(vAt).load(one.load).get(wAt).load(one.load);
          f.get(at).get(v).get(w).get(row).call(rowStep).get(t).op(one.mul).store(one.store);
          for (const pointer of [vAt, wAt, pAt]) bump(f, pointer, bytes);
        });
        // w = p - (tau/2)(p·v)·v
        f.get(left).get(p).get(row).call(dot).get(t).op(one.mul);
        half(f, lanes);
        f.op(one.mul).op(`${lanes.dtype}.neg`).set(alpha);
        f.get(left).get(alpha).get(row).get(p).call(axpy);
        f.get(w).set(held).get(p).set(w).get(held).set(p);
        f.get(row).set(v);
      });
      f.get(row).get(aRow).op("i32.add").set(row);
      for (const pointer of [d, e, tau]) bump(f, pointer, 8);
    });
    clearLeft(f, a, aRow, n, bytes);
    return m;
  };

function half(f: FuncBuilder, { dtype }: Lanes): void {
  if (dtype === "f32") f.f32(0.5);
  else f.f64(0.5);
}

/** Row k up to its diagonal becomes zero: what remains of it is the vector. */
function clearLeft(f: FuncBuilder, a: Local, aRow: Local, n: Local, bytes: number): void {
  const count = f.local("i32");
  repeat(f, n, () => {
    bump(f, count, bytes);
    f.get(a).i32(0).get(count).op("memory.fill");
    bump(f, a, aRow);
  });
}

/** symmetricRow(n, vi, wi, row, v, w, next) → row·next, after row -= vi·w + wi·v. */
function emitSymmetricRow(m: ModuleBuilder, lanes: Lanes): FuncBuilder {
  const { dtype, bytes } = lanes;
  const f = m.func(
    "symmetricRow",
    { n: "i32", vi: dtype, wi: dtype, row: "i32", v: "i32", w: "i32", next: "i32" },
    [dtype],
  );
  const [n, vi, wi, row, v, w, next] = f.params;
  const [vWide, wWide] = [wideOf(f, lanes, vi), wideOf(f, lanes, wi)];
  const value = { wide: f.local(lanes.wide.type), one: f.local(dtype) };
  const sums = new Sums(f, lanes);
  stream(f, lanes, n, [row, v, w, next], (r, offset, unit) => {
    const isWide = r === lanes.wide;
    const x = isWide ? value.wide : value.one;
    f.get(row);
    f.get(row).load(r.load, offset, bytes);
    f.get(isWide ? vWide : vi)
      .get(w)
      .load(r.load, offset, bytes)
      .op(r.mul)
      .op(r.sub);
    f.get(isWide ? wWide : wi)
      .get(v)
      .load(r.load, offset, bytes)
      .op(r.mul)
      .op(r.sub);
    f.tee(x).store(r.store, offset, bytes);
    f.get(x).get(next).load(r.load, offset, bytes).op(r.mul);
    sums.add(r, unit);
  });
  sums.total();
  return f;
}

/**
 * a: n × n. Becomes the vectors of the reflections from the right, as above; `left` gets those from the left, row k from
 * element k on. d, e, tauLeft, tauRight: n f64 each. space: 2·n elements and 16 bytes.
 */
export const bidiagonalTask = task({
  a: "ptr",
  aRow: "i32",
  n: "i32",
  left: "ptr",
  leftRow: "i32",
  d: "ptr",
  e: "ptr",
  tauLeft: "ptr",
  tauRight: "ptr",
  space: "ptr",
});

export const emitBidiagonal =
  (dtype: LinalgDType) =>
  (options: LinalgOptions): ModuleBuilder => {
    const m = heapModule(options.shared);
    const lanes = lanesOf(dtype, options.simd);
    const { bytes, one } = lanes;
    const [axpy, scale, reflect] = [emitAxpy(m, lanes), emitScale(m, lanes), emitReflect(m, lanes)];
    const [before, after] = [emitRowBefore(m, lanes), emitRowAfter(m, lanes)];
    const { f, words: word } = bidiagonalTask.open(m);
    const { a, aRow, n, left, leftRow, d, e, tauLeft, tauRight, space } = word;
    const i32 = (name: string) => f.local("i32", name);
    /* row: element k of row k of a. u: the same element of the last vector from the right. v: element k of left's row k.
       z: element k of z, w: element k + 1 of w. */
    const [row, u, v, z, w, rest, below, pair, at, zAt, vAt] = "row u v z w rest below pair at zAt vAt"
      .split(" ")
      .map(i32);
    const t = f.local(lanes.dtype, "t");
    const length = i32("length");
    f.get(n).i32(bytes).op("i32.mul").set(length);
    f.get(space).set(z);
    f.get(space).get(length).op("i32.add").tee(w).get(length).op("i32.add").set(pair);
    f.get(space).i32(0).get(length).i32(2).op("i32.mul").op("memory.fill");
    f.get(a).set(row).get(a).set(u).get(left).set(v).get(n).set(rest);
    const ones = [row, u, v, z, w];
    repeat(f, n, () => {
      // Column k, brought up to date, becomes a vector.
      f.get(row).set(at).get(z).set(zAt).get(v).set(vAt);
      repeat(f, rest, () => {
        f.get(vAt)
          .get(at)
          .load(one.load)
          .get(zAt)
          .load(one.load)
          .get(u)
          .load(one.load)
          .op(one.mul)
          .op(one.sub);
        f.store(one.store);
        bump(f, at, aRow);
        bump(f, zAt, bytes);
        bump(f, vAt, bytes);
      });
      f.get(rest).get(v).i32(bytes).get(pair).call(reflect);
      f.get(tauLeft).get(pair).load("f64.load").store("f64.store");
      f.get(d).get(pair).load("f64.load", 8).store("f64.store");
      f.get(rest).i32(1).op("i32.sub").set(below);
      f.get(below).if(() => {
        // w = tau·vᵀ·a over the columns to the right.
        f.get(w).i32(0).get(below).i32(bytes).op("i32.mul").op("memory.fill");
        bump(f, row, bytes);
        bump(f, u, bytes);
        f.get(row).set(at).get(z).set(zAt).get(v).set(vAt);
        repeat(f, rest, () => {
          f.get(below).get(zAt).load(one.load).get(vAt).load(one.load).get(at).get(u).get(w).call(before);
          bump(f, at, aRow);
          bump(f, zAt, bytes);
          bump(f, vAt, bytes);
        });
        f.get(below).get(pair).load("f64.load");
        narrow(f, lanes).get(w).call(scale);
        // Row k becomes a vector.
        f.get(below);
        minusOne(f, lanes);
        f.get(w).get(row).call(axpy);
        f.get(below).get(row).i32(bytes).get(pair).call(reflect);
        f.get(tauRight).get(pair).load("f64.load").store("f64.store");
        f.get(e).get(pair).load("f64.load", 8).store("f64.store");
        f.get(pair).load("f64.load");
        narrow(f, lanes).set(t);
        f.get(row).set(at).get(z).set(zAt).get(v).set(vAt);
        repeat(f, below, () => {
          bump(f, at, aRow);
          bump(f, zAt, bytes);
          bump(f, vAt, bytes);
          f.get(zAt).get(below).get(vAt).load(one.load).get(at).get(w).get(row).call(after);
          f.get(t).op(one.mul).store(one.store);
        });
        f.get(row).set(u);
        bump(f, row, -bytes);
        bump(f, u, -bytes);
      });
      for (const pointer of ones) bump(f, pointer, bytes);
      bump(f, row, aRow);
      bump(f, v, leftRow);
      bump(f, rest, -1);
      for (const pointer of [d, e, tauLeft, tauRight]) bump(f, pointer, 8);
    });
    clearLeft(f, a, aRow, n, bytes);
    return m;
  };

function minusOne(f: FuncBuilder, { dtype }: Lanes): void {
  if (dtype === "f32") f.f32(-1);
  else f.f64(-1);
}

/** before(n, zi, vi, row, u, w): row -= zi·u, then w += vi·row. */
function emitRowBefore(m: ModuleBuilder, lanes: Lanes): FuncBuilder {
  const { dtype, bytes } = lanes;
  const f = m.func("before", { n: "i32", zi: dtype, vi: dtype, row: "i32", u: "i32", w: "i32" });
  const [n, zi, vi, row, u, w] = f.params;
  const [zWide, vWide] = [wideOf(f, lanes, zi), wideOf(f, lanes, vi)];
  const value = { wide: f.local(lanes.wide.type), one: f.local(dtype) };
  stream(f, lanes, n, [row, u, w], (r, offset) => {
    const isWide = r === lanes.wide;
    const x = isWide ? value.wide : value.one;
    f.get(row).get(row).load(r.load, offset, bytes);
    f.get(isWide ? zWide : zi)
      .get(u)
      .load(r.load, offset, bytes)
      .op(r.mul)
      .op(r.sub);
    f.tee(x).store(r.store, offset, bytes);
    f.get(w).get(w).load(r.load, offset, bytes);
    f.get(isWide ? vWide : vi)
      .get(x)
      .op(r.mul)
      .op(r.add)
      .store(r.store, offset, bytes);
  });
  return f;
}

/** after(n, vi, row, w, next) → row·next, after row -= vi·w. */
function emitRowAfter(m: ModuleBuilder, lanes: Lanes): FuncBuilder {
  const { dtype, bytes } = lanes;
  const f = m.func("after", { n: "i32", vi: dtype, row: "i32", w: "i32", next: "i32" }, [dtype]);
  const [n, vi, row, w, next] = f.params;
  const vWide = wideOf(f, lanes, vi);
  const value = { wide: f.local(lanes.wide.type), one: f.local(dtype) };
  const sums = new Sums(f, lanes);
  stream(f, lanes, n, [row, w, next], (r, offset, unit) => {
    const isWide = r === lanes.wide;
    const x = isWide ? value.wide : value.one;
    f.get(row).get(row).load(r.load, offset, bytes);
    f.get(isWide ? vWide : vi)
      .get(w)
      .load(r.load, offset, bytes)
      .op(r.mul)
      .op(r.sub);
    f.tee(x).store(r.store, offset, bytes);
    f.get(x).get(next).load(r.load, offset, bytes).op(r.mul);
    sums.add(r, unit);
  });
  sums.total();
  return f;
}

/** Bytes of one rotation in a list: i32 rows i and j, f64 c and s. */
export const ROTATION_BYTES = 24;

/** (row i, row j) = (c·i + s·j, c·j - s·i), one rotation after the other, in `columns` elements from `a` (of row 0) on. */
export const rotationTask = task({ a: "ptr", aRow: "i32", columns: "i32", list: "ptr", count: "i32" });

export const emitRotations =
  (dtype: LinalgDType) =>
  (options: LinalgOptions): ModuleBuilder => {
    const m = heapModule(options.shared);
    const lanes = lanesOf(dtype, options.simd);
    const rotate = emitRotate(m, lanes);
    const { f, words: word } = rotationTask.open(m);
    const { a, aRow, columns, list, count } = word;
    repeat(f, count, () => {
      f.get(columns);
      for (const offset of [8, 16]) {
        f.get(list).load("f64.load", offset);
        narrow(f, lanes);
      }
      for (const offset of [0, 4]) {
        f.get(a).get(list).load("i32.load", offset).get(aRow).op("i32.mul").op("i32.add");
      }
      f.call(rotate);
      bump(f, list, ROTATION_BYTES);
    });
    return m;
  };

function emitRotate(m: ModuleBuilder, lanes: Lanes): FuncBuilder {
  const { dtype, bytes } = lanes;
  const f = m.func("rotate", { n: "i32", c: dtype, s: dtype, x: "i32", y: "i32" });
  const [n, c, s, x, y] = f.params;
  const [cWide, sWide] = [wideOf(f, lanes, c), wideOf(f, lanes, s)];
  const wides = [f.local(lanes.wide.type), f.local(lanes.wide.type)];
  const ones = [f.local(dtype), f.local(dtype)];
  stream(f, lanes, n, [x, y], (r, offset) => {
    const isWide = r === lanes.wide;
    const [p, q] = isWide ? wides : ones;
    const [cc, ss] = isWide ? [cWide, sWide] : [c, s];
    f.get(x).load(r.load, offset, bytes).set(p);
    f.get(y).load(r.load, offset, bytes).set(q);
    f.get(x).get(cc).get(p).op(r.mul).get(ss).get(q).op(r.mul).op(r.add).store(r.store, offset, bytes);
    f.get(y).get(cc).get(q).op(r.mul).get(ss).get(p).op(r.mul).op(r.sub).store(r.store, offset, bytes);
  });
  return f;
}
