/** What happens to cells between the ways in and out, beside the stages. */
import type { Callable } from "../../assembler/assembler.ts";
import { bump, repeat } from "../../product/lanes.ts";
import { CELL, type Complex, complex, constant, HALF, type Kit, release, splatF64 } from "./kit.ts";

/** conjugate(at, n): half a cell of each of n cells, negated; `at` says which half. */
export function emitConjugate(kit: Kit): Callable {
  const f = kit.func("conjugate", "at n");
  const [at, n] = f.params;
  repeat(f, n, () => {
    for (let h = 0; h < kit.regs; h++) {
      f.get(at)
        .get(at)
        .load(kit.row.load, h * kit.regBytes)
        .op(kit.row.neg)
        .store(kit.row.store, h * kit.regBytes);
    }
    bump(f, at, CELL);
  });
  return f;
}

/** scale(cells, n, by): every number times `by`. */
export function emitScale(kit: Kit): Callable {
  const f = kit.module.func("scale", { at: "i32", n: "i32", by: "f64" });
  const [at, n, by] = f.params;
  const factor = f.local(kit.row.type, "factor");
  f.get(by);
  splatF64(kit, f);
  f.set(factor);
  repeat(f, n, () => {
    for (let h = 0; h < 2 * kit.regs; h++) {
      f.get(at)
        .get(at)
        .load(kit.row.load, h * kit.regBytes)
        .get(factor)
        .op(kit.row.mul)
        .store(kit.row.store, h * kit.regBytes);
    }
    bump(f, at, CELL);
  });
  return f;
}

/**
 * twist(cells, n, table, line, whole, coarse, fine, shift): cell k of line j times exp(-2πi·j·k / whole), where lanes are
 * the lines from `line` on. The table has exp(-2πi·t·k / whole) for lane t of cell k; the factor that all lanes share is
 * the product of two numbers found by the two halves of the exponent's bits.
 */
export function emitTwist(kit: Kit): Callable {
  const f = kit.func("twist", "cells n table line whole coarse fine shift");
  const [cells, n, table, line, whole, coarse, fine, shift] = f.params;
  const [e, low, high, mask] = ["e", "low", "high", "mask"].map((name) => f.local("i32", name));
  f.i32(1).get(shift).op("i32.shl").i32(1).op("i32.sub").set(mask);
  repeat(f, n, () => {
    f.get(coarse).get(e).get(shift).op("i32.shr_u").i32(4).op("i32.shl").op("i32.add").set(high);
    f.get(fine).get(e).get(mask).op("i32.and").i32(4).op("i32.shl").op("i32.add").set(low);
    const shared = complex(f, kit.row.type, (half) => {
      f.get(high)
        .load("f64.load", 0)
        .get(low)
        .load("f64.load", 8 * half)
        .op("f64.mul");
      f.get(high)
        .load("f64.load", 8)
        .get(low)
        .load("f64.load", 8 - 8 * half)
        .op("f64.mul");
      f.op(half === 0 ? "f64.sub" : "f64.add");
      splatF64(kit, f);
    });
    for (let h = 0; h < kit.regs; h++) {
      const lanes = kit.load(f, table, h);
      const by = kit.mul(f, shared, lanes);
      const x = kit.load(f, cells, h);
      const y = kit.mul(f, x, by);
      kit.store(f, cells, h, y);
      release(f, lanes, by, x, y);
    }
    release(f, shared);
    // The next exponent: e + line, modulo the length of the whole.
    f.get(e).get(line).op("i32.add").tee(e).get(whole).op("i32.ge_u");
    f.if(() => f.get(e).get(whole).op("i32.sub").set(e));
    bump(f, cells, CELL);
    bump(f, table, CELL);
  });
  return f;
}

/**
 * Real signals of 2h numbers go as h complex ones, x[2j] + i·x[2j+1], whose transform Z and the signal's own, X, are made
 * of each other two by two. With A = cell k, B = the conjugate of cell h - k and a factor g from the table:
 *
 *     P = (A + B) / 2,  Q = g·(A - B):   cell k = P + Q,  cell h - k = the conjugate of P - Q
 *
 * `after` the stages g is -i/2·w^k, w = exp(-2πi / 2h), and Z becomes X (h + 1 cells); `before` them g is i/2·w^-k, and X
 * becomes Z, halves swapped for the inverse transform.
 */
export function emitPairUp(kit: Kit, when: "before" | "after"): Callable {
  const f = kit.func(when, "cells h table");
  const [cells, h, table] = f.params;
  const { type, add, sub, mul } = kit.row;
  const [low, high, count] = ["low", "high", "count"].map((name) => f.local("i32", name));
  const half = f.local(type, "half");
  constant(kit, f, 0.5);
  f.set(half);
  const keep = (at: typeof low, reg: number, [re, im]: Complex) =>
    kit.store(f, at, reg, when === "before" ? [im, re] : [re, im]);

  // The first cell, and the one after the last: both are real in X.
  f.get(h).i32(6).op("i32.shl").get(cells).op("i32.add").set(high);
  for (let reg = 0; reg < kit.regs; reg++) {
    const offset = reg * kit.regBytes;
    const [a, b] = [f.temp(type), f.temp(type)];
    f.get(cells).load(kit.row.load, offset).set(a);
    if (when === "before") f.get(high).load(kit.row.load, offset).set(b);
    else
      f.get(cells)
        .load(kit.row.load, HALF + offset)
        .set(b);
    const pair = complex(f, type, (part) => {
      f.get(a)
        .get(b)
        .op(part === 0 ? add : sub);
      if (when === "before") f.get(half).op(mul);
    });
    if (when === "before") keep(cells, reg, pair);
    else {
      const zero = f.temp(type);
      constant(kit, f, 0);
      f.set(zero);
      kit.store(f, cells, reg, [pair[0], zero]);
      kit.store(f, high, reg, [pair[1], zero]);
      f.release(zero);
    }
    release(f, [a, b], pair);
  }

  f.get(cells).set(low);
  f.get(h).i32(1).op("i32.shr_u").set(count);
  repeat(f, count, () => {
    bump(f, low, CELL);
    bump(f, high, -CELL);
    const g = kit.splat(f, table, 0);
    for (let reg = 0; reg < kit.regs; reg++) {
      const a = kit.load(f, low, reg);
      const c = kit.load(f, high, reg);
      const p = complex(f, type, (part) => {
        f.get(a[part]).get(c[part]);
        f.op(part === 0 ? add : sub)
          .get(half)
          .op(mul);
      });
      const difference = complex(f, type, (part) => {
        f.get(a[part]).get(c[part]);
        f.op(part === 0 ? sub : add);
      });
      const q = kit.mul(f, g, difference);
      const plus = kit.add(f, p, q);
      const minus = complex(f, type, (part) => {
        // Conjugated: the imaginary part is that of q - p.
        f.get(part === 0 ? p[0] : q[1]);
        f.get(part === 0 ? q[0] : p[1]);
        f.op(sub);
      });
      keep(low, reg, plus);
      keep(high, reg, minus);
      release(f, a, c, p, difference, q, plus, minus);
    }
    release(f, g);
    bump(f, table, 2 * kit.row.bytes);
  });
  return f;
}
