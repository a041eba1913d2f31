/** The stages of a transform: butterflies of every radix, each from one buffer of cells to the other (see fft.ts). */
import type { Callable, FuncBuilder, Local } from "../../assembler/assembler.ts";
import { bump, repeat } from "../../product/lanes.ts";
import { CELL, type Complex, complex, constant, type Kit, release } from "./kit.ts";

/** Radices that have a butterfly; lengths with other prime factors are convolutions (see library/fft-lengths.ts). */
export const RADICES = [4, 2, 3, 5, 7, 11, 13] as const;

/** The transform of x.length numbers; takes x's locals. */
type Butterfly = (f: FuncBuilder, x: readonly Complex[]) => readonly Complex[];

function butterflyOf(kit: Kit, f: FuncBuilder, radix: number): Butterfly {
  if (radix === 2) {
    return (_, [a, b]) => {
      const y = [kit.add(f, a, b), kit.sub(f, a, b)];
      release(f, a, b);
      return y;
    };
  }
  if (radix === 4) {
    return (_, [x0, x1, x2, x3]) => {
      const a = kit.add(f, x0, x2);
      const b = kit.sub(f, x0, x2);
      const c = kit.add(f, x1, x3);
      const d = kit.sub(f, x1, x3);
      release(f, x0, x1, x2, x3);
      const y = [kit.add(f, a, c), kit.addTurned(f, b, d, -1), kit.sub(f, a, c), kit.addTurned(f, b, d, 1)];
      release(f, a, b, c, d);
      return y;
    };
  }
  return oddButterfly(kit, f, radix);
}

/**
 * Odd primes: with a = x[j] + x[r-j] and b = x[j] - x[r-j], the sum u of cosines of the a's and the sum v of sines of the
 * b's give two results at once: y[k] = u - i·v, y[r-k] = u + i·v.
 */
function oddButterfly(kit: Kit, f: FuncBuilder, r: number): Butterfly {
  const { type, mul, add, sub } = kit.row;
  const half = (r - 1) / 2;
  const constants = [Math.cos, Math.sin].map((fn) =>
    Array.from({ length: half }, (_, j) => {
      const local = f.local(type);
      const angle = (2 * Math.PI * (j + 1)) / r;
      constant(kit, f, fn(angle));
      f.set(local);
      return local;
    }),
  );
  return (_, x) => {
    const a: Complex[] = [];
    const b: Complex[] = [];
    for (let j = 1; j <= half; j++) {
      a.push(kit.add(f, x[j], x[r - j]));
      b.push(kit.sub(f, x[j], x[r - j]));
      release(f, x[j], x[r - j]);
    }
    const y = new Array<Complex>(r);
    y[0] = complex(f, type, (part) => {
      f.get(x[0][part]);
      for (const one of a) f.get(one[part]).op(add);
    });
    for (let k = 1; k <= half; k++) {
      const index = (j: number) => (j * k) % r;
      const u = complex(f, type, (part) => {
        f.get(x[0][part]);
        for (let j = 1; j <= half; j++) {
          const e = index(j);
          f.get(a[j - 1][part])
            .get(constants[0][Math.min(e, r - e) - 1])
            .op(mul)
            .op(add);
        }
      });
      const v = complex(f, type, (part) => {
        for (let j = 1; j <= half; j++) {
          const e = index(j);
          f.get(b[j - 1][part])
            .get(constants[1][Math.min(e, r - e) - 1])
            .op(mul);
          // The first is j = 1, whose index k is in the first half.
          if (j > 1) f.op(e <= half ? add : sub);
        }
      });
      y[k] = kit.addTurned(f, u, v, -1);
      y[r - k] = kit.addTurned(f, u, v, 1);
      release(f, u, v);
    }
    release(f, x[0], ...a, ...b);
    return y;
  };
}

/**
 * stage(src, dst, run, m, factors): run is in bytes. The first of the m turns has no factors; in the last stage there is
 * no other.
 */
export function emitStage(kit: Kit, radix: number): Callable {
  const plain = emitTurn(kit, radix, false);
  const turned = emitTurn(kit, radix, true);
  const f = kit.func(`stage${radix}`, "src dst run m factors");
  const [src, dst, run, m, factors] = f.params;
  const step = f.local("i32", "step");
  f.get(run).get(m).op("i32.mul").set(step);
  f.get(src).get(dst).get(run).get(step).get(factors).call(plain);
  f.block((done) => {
    f.loop((next) => {
      f.get(m).i32(1).op("i32.sub").tee(m).op("i32.eqz").brIf(done);
      bump(f, src, run);
      f.get(run).i32(radix).op("i32.mul").get(dst).op("i32.add").set(dst);
      f.get(src).get(dst).get(run).get(step).get(factors).call(turned);
      bump(f, factors, 2 * (radix - 1) * kit.row.bytes);
      f.br(next);
    });
  });
  return f;
}

/** turn(src, dst, run, step, factors): `run` bytes of cells; inputs lie `step` apart, outputs `run`. */
function emitTurn(kit: Kit, radix: number, turned: boolean): Callable {
  const f = kit.func(`${turned ? "turned" : "plain"}${radix}`, "src dst run step factors");
  const [src, dst, run, step, factors] = f.params;
  const butterfly = butterflyOf(kit, f, radix);
  const pointers = (first: Local, apart: Local, name: string): Local[] => {
    const all = [first];
    for (let j = 1; j < radix; j++) {
      const at = f.local("i32", `${name}${j}`);
      f.get(all[j - 1])
        .get(apart)
        .op("i32.add")
        .set(at);
      all.push(at);
    }
    return all;
  };
  const from = pointers(src, step, "x");
  const to = pointers(dst, run, "y");
  const by: Complex[] = [];
  if (turned) {
    for (let k = 1; k < radix; k++) by.push(kit.splat(f, factors, 2 * (k - 1) * kit.row.bytes));
  }
  const cells = f.local("i32", "cells");
  f.get(run).i32(6).op("i32.shr_u").set(cells);
  repeat(f, cells, () => {
    for (let h = 0; h < kit.regs; h++) {
      const x = from.map((at) => kit.load(f, at, h));
      const y = butterfly(f, x).map((value, k) => {
        if (!turned || k === 0) return value;
        const product = kit.mul(f, value, by[k - 1]);
        release(f, value);
        return product;
      });
      y.forEach((value, k) => {
        kit.store(f, to[k], h, value);
        release(f, value);
      });
    }
    for (const at of [...from, ...to]) bump(f, at, CELL);
  });
  return f;
}
