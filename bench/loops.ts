/**
 * What strided is compared with: plain loops over typed arrays, each in several forms that a careful person might write.
 * Which of them is fastest depends on the engine and on the size, so a short trial decides before a workload is timed.
 * Functions are JavaScript's own (Math.exp), and numbers are added up in f64, which is what JavaScript has. Forms with
 * several totals add in another order than the others: their results agree within the tolerance of a workload, not to
 * the bit.
 *
 * What V8 of Node 20 makes of a loop depends on little things, by a factor of two, so the forms keep to this: arrays are
 * captured, which makes them constants as long as a literal was met once (a form is made once in a process, and no two
 * share a literal); the running index moves in the head of the loop, not in its body; the inner loop of a deep nest has a
 * function of its own; and nothing in the process has detached an ArrayBuffer, as tsx does.
 */
import { type Contestant, trial, verify } from "./harness.ts";
import type { Choice, Values } from "./peers/types.ts";

/** What a loop runs over; what it has no use for is 1. */
export interface Size {
  readonly batches: number;
  /** Rows and columns: of the output of sums of two matrices and of products, of the input of folds and copies. */
  readonly n: number;
  readonly m: number;
  /** Length of the sums of a product; how many numbers stay together in a copy. */
  readonly k: number;
  /** Product: how far apart x's elements are along a column and along a sum, and the matrices of a batch in x and y. */
  readonly down: number;
  readonly along: number;
  readonly nextX: number;
  readonly nextY: number;
}

/** The work, on these arrays: the whole of o is written, from x and y. */
export type Form = (o: Values, x: Values, y: Values, size: Size) => () => void;
/** By what is special about them; the first one serves where nothing is chosen. */
export type Forms = Readonly<Record<string, Form>>;

export const sized = (n: number, m: number, more: Partial<Size> = {}): Size => ({
  batches: 1,
  n,
  m,
  k: 1,
  down: 1,
  along: 1,
  nextX: 1,
  nextY: 1,
  ...more,
});

/** o = x + y. */
const add: Forms = {
  "one index": (o, x, y) => () => {
    for (let i = 0; i < o.length; i++) o[i] = x[i] + y[i];
  },
  "length hoisted": (o, x, y) => () => {
    const { length } = o;
    for (let i = 0; i < length; i++) o[i] = x[i] + y[i];
  },
  "by 4": (o, x, y) => () => {
    let i = 0;
    for (; i < o.length - 3; i += 4) {
      o[i] = x[i] + y[i];
      o[i + 1] = x[i + 1] + y[i + 1];
      o[i + 2] = x[i + 2] + y[i + 2];
      o[i + 3] = x[i + 3] + y[i + 3];
    }
    for (; i < o.length; i++) o[i] = x[i] + y[i];
  },
};

/** o[i, j] = x[i, j] + y[j]. */
const addRow: Forms = {
  "running index":
    (o, x, y, { n, m }) =>
    () => {
      for (let i = 0, p = 0; i < n; i++) for (let j = 0; j < m; j++, p++) o[p] = x[p] + y[j];
    },
  "running index, lengths of arrays": (o, x, y) => () => {
    for (let p = 0; p < o.length; ) for (let j = 0; j < y.length; j++, p++) o[p] = x[p] + y[j];
  },
  "row subarrays":
    (o, x, y, { n, m }) =>
    () => {
      for (let i = 0; i < n; i++) {
        const to = o.subarray(i * m, i * m + m);
        const from = x.subarray(i * m, i * m + m);
        for (let j = 0; j < m; j++) to[j] = from[j] + y[j];
      }
    },
  "running index by 4":
    (o, x, y, { n, m }) =>
    () => {
      for (let i = 0, p = 0; i < n; i++) {
        let j = 0;
        for (; j < m - 3; j += 4, p += 4) {
          o[p] = x[p] + y[j];
          o[p + 1] = x[p + 1] + y[j + 1];
          o[p + 2] = x[p + 2] + y[j + 2];
          o[p + 3] = x[p + 3] + y[j + 3];
        }
        for (; j < m; j++, p++) o[p] = x[p] + y[j];
      }
    },
};

/** o[i, j] = x[i, j] + y[i]. */
const addColumn: Forms = {
  "running index":
    (o, x, y, { n, m }) =>
    () => {
      for (let i = 0, p = 0; i < n; i++) {
        const v = y[i];
        for (let j = 0; j < m; j++, p++) o[p] = x[p] + v;
      }
    },
  "running index to the row's end":
    (o, x, y, { n, m }) =>
    () => {
      for (let i = 0, p = 0; i < n; i++) {
        const v = y[i];
        for (const end = p + m; p < end; p++) o[p] = x[p] + v;
      }
    },
  "row subarrays":
    (o, x, y, { n, m }) =>
    () => {
      for (let i = 0; i < n; i++) {
        const to = o.subarray(i * m, i * m + m);
        const from = x.subarray(i * m, i * m + m);
        const v = y[i];
        for (let j = 0; j < m; j++) to[j] = from[j] + v;
      }
    },
  "running index by 4":
    (o, x, y, { n, m }) =>
    () => {
      for (let i = 0, p = 0; i < n; i++) {
        const v = y[i];
        let j = 0;
        for (; j < m - 3; j += 4, p += 4) {
          o[p] = x[p] + v;
          o[p + 1] = x[p + 1] + v;
          o[p + 2] = x[p + 2] + v;
          o[p + 3] = x[p + 3] + v;
        }
        for (; j < m; j++, p++) o[p] = x[p] + v;
      }
    },
};

const exp: Forms = {
  "one index": (o, x) => () => {
    for (let i = 0; i < o.length; i++) o[i] = Math.exp(x[i]);
  },
  "by 4": (o, x) => () => {
    let i = 0;
    for (; i < o.length - 3; i += 4) {
      o[i] = Math.exp(x[i]);
      o[i + 1] = Math.exp(x[i + 1]);
      o[i + 2] = Math.exp(x[i + 2]);
      o[i + 3] = Math.exp(x[i + 3]);
    }
    for (; i < o.length; i++) o[i] = Math.exp(x[i]);
  },
};

/** tanh(x² + 1). */
const tanhSquare: Forms = {
  "Math.tanh": (o, x) => () => {
    for (let i = 0; i < o.length; i++) {
      const v = x[i];
      o[i] = Math.tanh(v * v + 1);
    }
  },
  // The argument is 1 at the least, so nothing cancels.
  "1 - 2 / (1 + exp(2u))": (o, x) => () => {
    for (let i = 0; i < o.length; i++) {
      const v = x[i];
      o[i] = 1 - 2 / (1 + Math.exp(2 * (v * v + 1)));
    }
  },
};

/** 0.5 · x · (1 + tanh(u)), u = √(2/π) · (x + 0.044715 x³). */
const gelu: Forms = {
  "Math.tanh": (o, x) => () => {
    for (let i = 0; i < o.length; i++) {
      const v = x[i];
      o[i] = 0.5 * v * (1 + Math.tanh(0.7978845608 * (v + 0.044715 * v * v * v)));
    }
  },
  "x / (1 + exp(-2u))": (o, x) => () => {
    for (let i = 0; i < o.length; i++) {
      const v = x[i];
      o[i] = v / (1 + Math.exp(-1.5957691216 * (v + 0.044715 * v * v * v)));
    }
  },
};

/** o[i, j] = x[i, 2j] + y[i, j], rows of x being 2m long. */
const everySecond: Forms = {
  "running indices": (o, x, y) => () => {
    for (let p = 0, q = 0; p < o.length; p++, q += 2) o[p] = x[q] + y[p];
  },
  "index doubled": (o, x, y) => () => {
    for (let p = 0; p < o.length; p++) o[p] = x[2 * p] + y[p];
  },
  "running indices by 4": (o, x, y) => () => {
    let p = 0;
    let q = 0;
    for (; p < o.length - 3; p += 4, q += 8) {
      o[p] = x[q] + y[p];
      o[p + 1] = x[q + 2] + y[p + 1];
      o[p + 2] = x[q + 4] + y[p + 2];
      o[p + 3] = x[q + 6] + y[p + 3];
    }
    for (; p < o.length; p++, q += 2) o[p] = x[q] + y[p];
  },
};

/** o[i, j] = x[j, i] + y[i, j], all of them n × n. */
const transposedAdd: Forms = {
  "tiles of 8":
    (o, x, y, { n }) =>
    () => {
      for (let i0 = 0; i0 < n; i0 += 8) {
        const iEnd = Math.min(i0 + 8, n);
        for (let j0 = 0; j0 < n; j0 += 8) {
          const jEnd = Math.min(j0 + 8, n);
          for (let i = i0; i < iEnd; i++)
            for (let j = j0, p = i * n + j0, q = j0 * n + i; j < jEnd; j++, p++, q += n) o[p] = x[q] + y[p];
        }
      }
    },
  "tiles of 32":
    (o, x, y, { n }) =>
    () => {
      for (let i0 = 0; i0 < n; i0 += 32) {
        const iEnd = Math.min(i0 + 32, n);
        for (let j0 = 0; j0 < n; j0 += 32) {
          const jEnd = Math.min(j0 + 32, n);
          for (let i = i0; i < iEnd; i++)
            for (let j = j0, p = i * n + j0, q = j0 * n + i; j < jEnd; j++, p++, q += n) o[p] = x[q] + y[p];
        }
      }
    },
};

/** o[i, j] = x[i, m - 1 - j] + y[i, j]. */
const reversedAdd: Forms = {
  "running indices":
    (o, x, y, { n, m }) =>
    () => {
      for (let i = 0, p = 0; i < n; i++)
        for (let j = 0, q = p + m - 1; j < m; j++, p++, q--) o[p] = x[q] + y[p];
    },
  "row subarrays":
    (o, x, y, { n, m }) =>
    () => {
      for (let i = 0; i < n; i++) {
        const to = o.subarray(i * m, i * m + m);
        const from = x.subarray(i * m, i * m + m);
        const other = y.subarray(i * m, i * m + m);
        for (let j = 0, q = m - 1; j < m; j++, q--) to[j] = from[q] + other[j];
      }
    },
  "running indices by 4":
    (o, x, y, { n, m }) =>
    () => {
      for (let i = 0, p = 0; i < n; i++) {
        let q = p + m - 1;
        let j = 0;
        for (; j < m - 3; j += 4, p += 4, q -= 4) {
          o[p] = x[q] + y[p];
          o[p + 1] = x[q - 1] + y[p + 1];
          o[p + 2] = x[q - 2] + y[p + 2];
          o[p + 3] = x[q - 3] + y[p + 3];
        }
        for (; j < m; j++, p++, q--) o[p] = x[q] + y[p];
      }
    },
};

/** o[j] = Σ x[i, j] over i. */
const sumColumns: Forms = {
  "row by row":
    (o, x, _, { n, m }) =>
    () => {
      o.fill(0);
      for (let i = 0, p = 0; i < n; i++) for (let j = 0; j < m; j++, p++) o[j] += x[p];
    },
  "row by row in f64": (o, x, _, { n, m }) => {
    const totals = new Float64Array(m);
    return () => {
      totals.fill(0);
      for (let i = 0, p = 0; i < n; i++) for (let j = 0; j < m; j++, p++) totals[j] += x[p];
      o.set(totals);
    };
  },
  "four rows at once":
    (o, x, _, { n, m }) =>
    () => {
      o.fill(0);
      let i = 0;
      for (; i < n - 3; i += 4)
        for (let j = 0, p = i * m; j < m; j++, p++) o[j] += x[p] + x[p + m] + (x[p + 2 * m] + x[p + 3 * m]);
      for (; i < n; i++) for (let j = 0, p = i * m; j < m; j++, p++) o[j] += x[p];
    },
};

/** o[i] = Σ x[i, j] over j; a sum of all is that of one row. */
const sumRows: Forms = {
  "one total":
    (o, x, _, { n, m }) =>
    () => {
      for (let i = 0, p = 0; i < n; i++) {
        let total = 0;
        for (let j = 0; j < m; j++, p++) total += x[p];
        o[i] = total;
      }
    },
  "four totals":
    (o, x, _, { n, m }) =>
    () => {
      for (let i = 0, p = 0; i < n; i++) {
        let a = 0;
        let b = 0;
        let c = 0;
        let d = 0;
        let j = 0;
        for (; j < m - 3; j += 4, p += 4) {
          a += x[p];
          b += x[p + 1];
          c += x[p + 2];
          d += x[p + 3];
        }
        for (; j < m; j++, p++) a += x[p];
        o[i] = a + b + (c + d);
      }
    },
  "four totals of pairs":
    (o, x, _, { n, m }) =>
    () => {
      for (let i = 0, p = 0; i < n; i++) {
        let a = 0;
        let b = 0;
        let c = 0;
        let d = 0;
        let j = 0;
        for (; j < m - 7; j += 8, p += 8) {
          a += x[p] + x[p + 1];
          b += x[p + 2] + x[p + 3];
          c += x[p + 4] + x[p + 5];
          d += x[p + 6] + x[p + 7];
        }
        for (; j < m; j++, p++) a += x[p];
        o[i] = a + b + (c + d);
      }
    },
};

/** o[i] = the largest x[i, j] over j. */
const maxRows: Forms = {
  "one maximum":
    (o, x, _, { n, m }) =>
    () => {
      for (let i = 0, p = 0; i < n; i++) {
        let top = -Infinity;
        for (let j = 0; j < m; j++, p++) {
          const v = x[p];
          if (v > top) top = v;
        }
        o[i] = top;
      }
    },
  "four maxima":
    (o, x, _, { n, m }) =>
    () => {
      for (let i = 0, p = 0; i < n; i++) {
        let a = -Infinity;
        let b = -Infinity;
        let c = -Infinity;
        let d = -Infinity;
        let j = 0;
        for (; j < m - 3; j += 4, p += 4) {
          const e = x[p];
          const f = x[p + 1];
          const g = x[p + 2];
          const h = x[p + 3];
          if (e > a) a = e;
          if (f > b) b = f;
          if (g > c) c = g;
          if (h > d) d = h;
        }
        for (; j < m; j++, p++) if (x[p] > a) a = x[p];
        o[i] = Math.max(a, b, c, d);
      }
    },
  "Math.max":
    (o, x, _, { n, m }) =>
    () => {
      for (let i = 0, p = 0; i < n; i++) {
        let top = -Infinity;
        for (let j = 0; j < m; j++, p++) top = Math.max(top, x[p]);
        o[i] = top;
      }
    },
};

/** exp(x[i, j] - top of row i) over their sum: each exponential is computed once, kept in the output, then scaled. */
const softmax: Forms = {
  "running index":
    (o, x, _, { n, m }) =>
    () => {
      for (let i = 0; i < n; i++) {
        let top = -Infinity;
        for (let j = 0, p = i * m; j < m; j++, p++) {
          const v = x[p];
          if (v > top) top = v;
        }
        let total = 0;
        for (let j = 0, p = i * m; j < m; j++, p++) {
          const e = Math.exp(x[p] - top);
          o[p] = e;
          total += e;
        }
        const share = 1 / total;
        for (let j = 0, p = i * m; j < m; j++, p++) o[p] *= share;
      }
    },
  "row subarrays":
    (o, x, _, { n, m }) =>
    () => {
      for (let i = 0; i < n; i++) {
        const to = o.subarray(i * m, i * m + m);
        const from = x.subarray(i * m, i * m + m);
        let top = -Infinity;
        for (let j = 0; j < m; j++) if (from[j] > top) top = from[j];
        let total = 0;
        for (let j = 0; j < m; j++) {
          const e = Math.exp(from[j] - top);
          to[j] = e;
          total += e;
        }
        const share = 1 / total;
        for (let j = 0; j < m; j++) to[j] *= share;
      }
    },
};

/** top + log Σ exp(x[i, j] - top) of row i. */
const logsumexp: Forms = {
  "running index":
    (o, x, _, { n, m }) =>
    () => {
      for (let i = 0; i < n; i++) {
        let top = -Infinity;
        for (let j = 0, p = i * m; j < m; j++, p++) {
          const v = x[p];
          if (v > top) top = v;
        }
        let total = 0;
        for (let j = 0, p = i * m; j < m; j++, p++) total += Math.exp(x[p] - top);
        o[i] = top + Math.log(total);
      }
    },
  "row subarrays":
    (o, x, _, { n, m }) =>
    () => {
      for (let i = 0; i < n; i++) {
        const from = x.subarray(i * m, i * m + m);
        let top = -Infinity;
        for (let j = 0; j < m; j++) if (from[j] > top) top = from[j];
        let total = 0;
        for (let j = 0; j < m; j++) total += Math.exp(from[j] - top);
        o[i] = top + Math.log(total);
      }
    },
};

/** o[t, i, j] = Σ x[t, i, p] · y[t, p, j] over p. */
const matmul: Forms = {
  // Two rows of x and four columns of y at a time, both laid out as they are read, in f64; beyond the edge are zeros.
  "tiles of 2 × 4, packed": (o, x, y, { batches, n, m, k, down, along, nextX, nextY }) => {
    const rows = new Float64Array(2 * k);
    const columns = new Float64Array(4 * k * Math.ceil(m / 4));
    const sums = new Float64Array(8);
    const tile = (q: number) => {
      let a = 0;
      let b = 0;
      let c = 0;
      let d = 0;
      let e = 0;
      let f = 0;
      let g = 0;
      let h = 0;
      for (let p = 0; p < rows.length; p += 2, q += 4) {
        const u = rows[p];
        const v = rows[p + 1];
        const y0 = columns[q];
        const y1 = columns[q + 1];
        const y2 = columns[q + 2];
        const y3 = columns[q + 3];
        a += u * y0;
        b += u * y1;
        c += u * y2;
        d += u * y3;
        e += v * y0;
        f += v * y1;
        g += v * y2;
        h += v * y3;
      }
      sums[0] = a;
      sums[1] = b;
      sums[2] = c;
      sums[3] = d;
      sums[4] = e;
      sums[5] = f;
      sums[6] = g;
      sums[7] = h;
    };
    return () => {
      for (let t = 0; t < batches; t++) {
        for (let p = 0, q = t * nextY; p < k; p++)
          for (let j = 0; j < m; j++, q++) columns[(j >> 2) * 4 * k + p * 4 + (j & 3)] = y[q];
        for (let i = 0; i < n; i += 2) {
          const iEnd = Math.min(i + 2, n);
          for (let r = i; r < iEnd; r++)
            for (let p = r - i, at = t * nextX + r * down; p < rows.length; p += 2, at += along)
              rows[p] = x[at];
          for (let j = 0; j < m; j += 4) {
            tile(j * k);
            const width = Math.min(4, m - j);
            for (let r = i, s = 0; r < iEnd; r++, s += 4)
              for (let c = 0, to = (t * n + r) * m + j; c < width; c++, to++) o[to] = sums[s + c];
          }
        }
      }
    };
  },
  "four rows of y at once": (o, x, y, { batches, n, m, k, down, along, nextX, nextY }) => {
    const one = (to: number, q: number, a: number) => {
      for (let j = 0; j < m; j++, to++, q++) o[to] += a * y[q];
    };
    const four = (to: number, q: number, a: number, b: number, c: number, d: number) => {
      for (let j = 0; j < m; j++, to++, q++)
        o[to] += a * y[q] + b * y[q + m] + (c * y[q + 2 * m] + d * y[q + 3 * m]);
    };
    return () => {
      o.fill(0);
      for (let t = 0; t < batches; t++)
        for (let i = 0; i < n; i++) {
          const to = (t * n + i) * m;
          let [p, at] = [0, t * nextX + i * down];
          for (; p < k - 3; p += 4, at += 4 * along)
            four(to, t * nextY + p * m, x[at], x[at + along], x[at + 2 * along], x[at + 3 * along]);
          for (; p < k; p++, at += along) one(to, t * nextY + p * m, x[at]);
        }
    };
  },
  "rows of y": (o, x, y, { batches, n, m, k, down, along, nextX, nextY }) => {
    const row = (to: number, q: number, a: number) => {
      for (let j = 0; j < m; j++, to++, q++) o[to] += a * y[q];
    };
    return () => {
      o.fill(0);
      for (let t = 0; t < batches; t++)
        for (let i = 0; i < n; i++)
          for (let p = 0, at = t * nextX + i * down; p < k; p++, at += along)
            row((t * n + i) * m, t * nextY + p * m, x[at]);
    };
  },
};

/** o[i] = Σ x[i, p] · y[p] over p. */
const gemv: Forms = {
  "one total":
    (o, x, y, { n, k }) =>
    () => {
      for (let i = 0, q = 0; i < n; i++) {
        let total = 0;
        for (let p = 0; p < k; p++, q++) total += x[q] * y[p];
        o[i] = total;
      }
    },
  "four totals":
    (o, x, y, { n, k }) =>
    () => {
      for (let i = 0, q = 0; i < n; i++) {
        let a = 0;
        let b = 0;
        let c = 0;
        let d = 0;
        let p = 0;
        for (; p < k - 3; p += 4, q += 4) {
          a += x[q] * y[p];
          b += x[q + 1] * y[p + 1];
          c += x[q + 2] * y[p + 2];
          d += x[q + 3] * y[p + 3];
        }
        for (; p < k; p++, q++) a += x[q] * y[p];
        o[i] = a + b + (c + d);
      }
    },
  "four rows at once":
    (o, x, y, { n, k }) =>
    () => {
      let i = 0;
      for (; i < n - 3; i += 4) {
        let a = 0;
        let b = 0;
        let c = 0;
        let d = 0;
        for (let p = 0, q = i * k; p < k; p++, q++) {
          const v = y[p];
          a += x[q] * v;
          b += x[q + k] * v;
          c += x[q + 2 * k] * v;
          d += x[q + 3 * k] * v;
        }
        o[i] = a;
        o[i + 1] = b;
        o[i + 2] = c;
        o[i + 3] = d;
      }
      for (; i < n; i++) {
        let total = 0;
        for (let p = 0, q = i * k; p < k; p++, q++) total += x[q] * y[p];
        o[i] = total;
      }
    },
};

/** o[t, j, i] = x[t, i, j]. */
const transpose: Forms = {
  "tiles of 8":
    (o, x, _, { batches, n, m }) =>
    () => {
      for (let t = 0; t < batches; t++) {
        const base = t * n * m;
        for (let j0 = 0; j0 < m; j0 += 8) {
          const jEnd = Math.min(j0 + 8, m);
          for (let i0 = 0; i0 < n; i0 += 8) {
            const iEnd = Math.min(i0 + 8, n);
            for (let j = j0; j < jEnd; j++)
              for (let i = i0, p = base + j * n + i0, q = base + i0 * m + j; i < iEnd; i++, p++, q += m)
                o[p] = x[q];
          }
        }
      }
    },
  "tiles of 32":
    (o, x, _, { batches, n, m }) =>
    () => {
      for (let t = 0; t < batches; t++) {
        const base = t * n * m;
        for (let j0 = 0; j0 < m; j0 += 32) {
          const jEnd = Math.min(j0 + 32, m);
          for (let i0 = 0; i0 < n; i0 += 32) {
            const iEnd = Math.min(i0 + 32, n);
            for (let j = j0; j < jEnd; j++)
              for (let i = i0, p = base + j * n + i0, q = base + i0 * m + j; i < iEnd; i++, p++, q += m)
                o[p] = x[q];
          }
        }
      }
    },
  "eight rows at once":
    (o, x, _, { batches, n, m }) =>
    () => {
      for (let t = 0; t < batches; t++) {
        const base = t * n * m;
        let i = 0;
        for (; i < n - 7; i += 8)
          for (let j = 0, p = base + i, q = base + i * m; j < m; j++, p += n, q++) {
            o[p] = x[q];
            o[p + 1] = x[q + m];
            o[p + 2] = x[q + 2 * m];
            o[p + 3] = x[q + 3 * m];
            o[p + 4] = x[q + 4 * m];
            o[p + 5] = x[q + 5 * m];
            o[p + 6] = x[q + 6 * m];
            o[p + 7] = x[q + 7 * m];
          }
        for (; i < n; i++)
          for (let j = 0, p = base + i, q = base + i * m; j < m; j++, p += n, q++) o[p] = x[q];
      }
    },
};

/** o[j, i] = x[i, j], each of them k numbers in a row. */
const swapRuns: Forms = {
  "running indices":
    (o, x, _, { n, m, k }) =>
    () => {
      for (let j = 0, p = 0; j < m; j++)
        for (let i = 0; i < n; i++) for (let h = 0, q = (i * m + j) * k; h < k; h++, p++, q++) o[p] = x[q];
    },
  "set of subarrays":
    (o, x, _, { n, m, k }) =>
    () => {
      for (let j = 0, p = 0; j < m; j++)
        for (let i = 0, q = j * k; i < n; i++, p += k, q += m * k) o.set(x.subarray(q, q + k), p);
    },
};

const f32ToF64: Forms = {
  "one index": (o, x) => () => {
    for (let i = 0; i < o.length; i++) o[i] = x[i];
  },
  "by 4": (o, x) => () => {
    let i = 0;
    for (; i < o.length - 3; i += 4) {
      o[i] = x[i];
      o[i + 1] = x[i + 1];
      o[i + 2] = x[i + 2];
      o[i + 3] = x[i + 3];
    }
    for (; i < o.length; i++) o[i] = x[i];
  },
  set: (o, x) => () => o.set(x),
};

const f64ToF32: Forms = {
  "one index": (o, x) => () => {
    for (let i = 0; i < o.length; i++) o[i] = x[i];
  },
  "by 4": (o, x) => () => {
    let i = 0;
    for (; i < o.length - 3; i += 4) {
      o[i] = x[i];
      o[i + 1] = x[i + 1];
      o[i + 2] = x[i + 2];
      o[i + 3] = x[i + 3];
    }
    for (; i < o.length; i++) o[i] = x[i];
  },
  set: (o, x) => () => o.set(x),
};

/** Towards zero. */
const f32ToI32: Forms = {
  "one index": (o, x) => () => {
    for (let i = 0; i < o.length; i++) o[i] = x[i];
  },
  "by 4": (o, x) => () => {
    let i = 0;
    for (; i < o.length - 3; i += 4) {
      o[i] = x[i];
      o[i + 1] = x[i + 1];
      o[i + 2] = x[i + 2];
      o[i + 3] = x[i + 3];
    }
    for (; i < o.length; i++) o[i] = x[i];
  },
  set: (o, x) => () => o.set(x),
};

const { Float16Array: Halves } = globalThis as unknown as {
  readonly Float16Array?: new (buffer: ArrayBufferLike, byteOffset: number, length: number) => Float32Array;
};
const float = new Float32Array(1);
const bits = new Int32Array(float.buffer);

/** To the bits of half floats, ties to even: by integer arithmetic, or by Float16Array where there is one. */
const f32ToF16: Forms = {
  "bits of each number": (o, x) => () => {
    for (let i = 0; i < o.length; i++) {
      float[0] = x[i];
      const b = bits[0];
      const sign = (b >>> 16) & 0x8000;
      const a = b & 0x7fffffff;
      if (a >= 0x47800000) o[i] = sign | (a > 0x7f800000 ? 0x7e00 : 0x7c00);
      else if (a >= 0x38800000) o[i] = sign | ((a - 0x37fff001 + ((a >>> 13) & 1)) >>> 13);
      else {
        float[0] = Math.abs(x[i]) + 0.5;
        o[i] = sign | (bits[0] - 0x3f000000);
      }
    }
  },
  "bits of the array": (o, x) => {
    const all = new Int32Array(x.buffer, x.byteOffset, x.length);
    return () => {
      for (let i = 0; i < o.length; i++) {
        const b = all[i];
        const sign = (b >>> 16) & 0x8000;
        const a = b & 0x7fffffff;
        if (a >= 0x47800000) o[i] = sign | (a > 0x7f800000 ? 0x7e00 : 0x7c00);
        else if (a >= 0x38800000) o[i] = sign | ((a - 0x37fff001 + ((a >>> 13) & 1)) >>> 13);
        else {
          float[0] = Math.abs(x[i]) + 0.5;
          o[i] = sign | (bits[0] - 0x3f000000);
        }
      }
    };
  },
  ...(Halves === undefined
    ? {}
    : {
        "Float16Array, one index": (o: Values, x: Values) => {
          const halves = new Halves(o.buffer, o.byteOffset, o.length);
          return () => {
            for (let i = 0; i < halves.length; i++) halves[i] = x[i];
          };
        },
        "Float16Array, set": (o: Values, x: Values) => {
          const halves = new Halves(o.buffer, o.byteOffset, o.length);
          return () => halves.set(x);
        },
      }),
};

export const loops = {
  add,
  addRow,
  addColumn,
  exp,
  tanhSquare,
  gelu,
  everySecond,
  transposedAdd,
  reversedAdd,
  sumColumns,
  sumRows,
  maxRows,
  softmax,
  logsumexp,
  matmul,
  gemv,
  transpose,
  swapRuns,
  f32ToF64,
  f64ToF32,
  f32ToI32,
  f32ToF16,
} satisfies Record<string, Forms>;
export type LoopName = keyof typeof loops;

/** The forms of a loop on these arrays. */
export const formsOf = (name: LoopName, o: Values, x: Values, y: Values, size: Size): readonly Contestant[] =>
  Object.entries<Form>(loops[name]).map(([form, make]) => ({ name: form, run: make(o, x, y, size) }));

/** Verifies each form against the first one, then finds the fastest; `read` looks at what the last call made. */
export function fastest(forms: readonly Contestant[], read: () => Values, tolerance: number): Choice {
  forms[0].run();
  const want = read().slice();
  for (const { name, run } of forms.slice(1)) {
    read().fill(0);
    run();
    verify(name, read(), want, tolerance);
  }
  const least = trial(forms);
  const best = least.indexOf(Math.min(...least));
  return { form: forms[best].name, tried: Object.fromEntries(forms.map(({ name }, k) => [name, least[k]])) };
}
