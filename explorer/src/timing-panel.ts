/** The timing panel: a plain loop over typed arrays, one thread, all threads, on data of a chosen size. */
import { engine } from "../../src/engine.ts";
import { arange, explain, kernel, ready, scope, type Tensor, zeros } from "./core.ts";
import { count, fill, h } from "./dom.ts";

interface Work {
  readonly title: string;
  readonly sizes: readonly number[];
  readonly sizeText: (n: number) => string;
  /** Tensors to work on, the last one for the result. */
  make(n: number): Tensor[];
  ours(t: readonly Tensor[]): void;
  plain(a: readonly Float32Array[], n: number): void;
  /** What a second's work is counted in. */
  readonly rate: (n: number) => { readonly amount: number; readonly unit: string };
}

const powers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => 2 ** (from + i));
const elements = (n: number) => `${count(n)} elements`;
const gigabytes = (per: number) => (n: number) => ({ amount: per * n, unit: "GB/s" });

/** Kernels are made when first measured: nothing compiles before. */
const lazily = <T>(make: () => T) => {
  let made: T | undefined;
  return () => (made ??= make());
};
const addKernel = lazily(() => kernel((a: number, b: number) => a + b));
const tanhKernel = lazily(() => kernel((x: number) => Math.tanh(x * x + 1)));

const works: readonly Work[] = [
  {
    title: "a + b",
    sizes: powers(10, 22),
    sizeText: elements,
    make: (n) => [arange(n), arange(n), zeros(n)],
    ours: ([a, b, out]) => void addKernel().into(out, a, b),
    plain([a, b, out], n) {
      for (let i = 0; i < n; i++) out[i] = a[i] + b[i];
    },
    rate: gigabytes(12),
  },
  {
    title: "tanh(x·x + 1)",
    sizes: powers(10, 21),
    sizeText: elements,
    make: (n) => [arange(n).div(n), zeros(n)],
    ours: ([a, out]) => void tanhKernel().into(out, a),
    plain([a, out], n) {
      for (let i = 0; i < n; i++) out[i] = Math.tanh(a[i] * a[i] + 1);
    },
    rate: gigabytes(8),
  },
  {
    title: "column sums",
    sizes: powers(5, 11),
    sizeText: (n) => `${count(n)} × ${count(n)}`,
    make: (n) => [
      arange(n * n)
        .remainder(7)
        .reshape(n, n),
      zeros(n),
    ],
    ours: ([a, out]) => void scope(() => out.assign(a.sum({ axis: 0 }))),
    plain([a, out], n) {
      out.fill(0);
      for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) out[j] += a[i * n + j];
    },
    rate: (n) => ({ amount: 4 * n * n, unit: "GB/s" }),
  },
  {
    title: "matrix product",
    sizes: powers(4, 9),
    sizeText: (n) => `${count(n)} × ${count(n)}`,
    make: (n) => [
      arange(n * n)
        .remainder(7)
        .reshape(n, n),
      arange(n * n)
        .remainder(5)
        .reshape(n, n),
      zeros([n, n]),
    ],
    ours: ([a, b, out]) => void scope(() => out.assign(a.matmul(b))),
    plain([a, b, out], n) {
      out.fill(0);
      for (let i = 0; i < n; i++)
        for (let k = 0; k < n; k++) {
          const x = a[i * n + k];
          for (let j = 0; j < n; j++) out[i * n + j] += x * b[k * n + j];
        }
    },
    rate: (n) => ({ amount: 2 * n ** 3, unit: "GFLOP/s" }),
  },
];

interface Bar {
  readonly name: string;
  readonly seconds: number | null;
  readonly why?: string;
}

export class TimingPanel {
  readonly #work: HTMLSelectElement;
  readonly #size: HTMLInputElement;
  readonly #sizeText = h("output", { for: "timing-size" });
  readonly #button: HTMLButtonElement;
  readonly #bars = h("div", { class: "bars", "aria-live": "polite" });
  #busy = false;

  constructor(root: HTMLElement) {
    this.#work = h(
      "select",
      { id: "timing-work", onchange: () => this.#changed() },
      ...works.map((w, i) => h("option", { value: i }, w.title)),
    );
    this.#size = h("input", {
      id: "timing-size",
      type: "range",
      min: 0,
      oninput: () => this.#drawSize(),
      onchange: () => void this.#measure(),
    });
    this.#button = h(
      "button",
      { type: "button", class: "primary", onclick: () => void this.#measure() },
      "Measure",
    );
    root.append(
      h(
        "div",
        { class: "head" },
        h("h2", { id: "timing-title" }, "Timing"),
        h(
          "p",
          {},
          "Measured here and now, in your browser: the best of several runs, results compared first.",
        ),
      ),
      h(
        "div",
        { class: "bar" },
        h("span", { class: "field" }, h("label", { for: "timing-work" }, "Work"), this.#work),
        h(
          "span",
          { class: "field grow" },
          h("label", { for: "timing-size" }, "Size"),
          this.#size,
          this.#sizeText,
        ),
        this.#button,
      ),
      this.#bars,
    );
    this.#changed();
  }

  get #chosen(): Work {
    return works[Number(this.#work.value)];
  }
  get #n(): number {
    return this.#chosen.sizes[Number(this.#size.value)];
  }

  #changed(): void {
    const { sizes } = this.#chosen;
    this.#size.max = String(sizes.length - 1);
    this.#size.value = String(sizes.length - 3);
    this.#drawSize();
    fill(
      this.#bars,
      ...["plain loop", "1 thread", "all threads"].map((name) =>
        h("div", { class: "bar-row" }, h("span", {}, name), h("span", { class: "bar-track" })),
      ),
    );
  }

  #drawSize(): void {
    this.#sizeText.textContent = this.#chosen.sizeText(this.#n);
    this.#size.setAttribute("aria-valuetext", this.#sizeText.textContent);
  }

  async #measure(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    this.#button.disabled = true;
    this.#button.textContent = "Measuring…";
    const [work, n] = [this.#chosen, this.#n];
    try {
      await ready();
      await painted();
      const bars = await measure(work, n, (soFar) => this.#draw(work, n, soFar));
      this.#draw(work, n, bars);
    } catch (error) {
      fill(this.#bars, h("pre", { class: "error" }, (error as Error).message));
    }
    this.#busy = false;
    this.#button.disabled = false;
    this.#button.textContent = "Measure";
  }

  #draw(work: Work, n: number, bars: readonly Bar[]): void {
    const slowest = Math.max(...bars.map((b) => b.seconds ?? 0));
    const plain = bars[0].seconds ?? 0;
    const { amount, unit } = work.rate(n);
    fill(
      this.#bars,
      ...bars.map(({ name, seconds, why }) => {
        if (seconds === null)
          return h(
            "div",
            { class: "bar-row" },
            h("span", {}, name),
            h("span", { class: "note bar-why" }, why ?? ""),
          );
        const fillBar = h("span", { class: "bar-fill" });
        fillBar.style.setProperty("width", `${Math.max(0.5, (100 * seconds) / slowest)}%`);
        const ratio = plain / seconds;
        return h(
          "div",
          { class: "bar-row" },
          h("span", {}, name),
          h("span", { class: "bar-track" }, fillBar),
          h("b", { class: "bar-time" }, timeText(seconds)),
          h("span", { class: "rate" }, `${(amount / seconds / 1e9).toPrecision(3)} ${unit}`),
          h("span", { class: "rate" }, name === "plain loop" ? "" : `${ratio.toPrecision(2)}×`),
        );
      }),
    );
  }
}

async function measure(work: Work, n: number, show: (bars: readonly Bar[]) => void): Promise<Bar[]> {
  const tensors = work.make(n);
  try {
    const arrays = tensors.map((t) => Float32Array.from(t.toTypedArray() as Float32Array));
    const { kernels } = engine();
    const plain = () => work.plain(arrays, n);
    const ours = () => work.ours(tensors);
    plain();
    ours();
    check(arrays[arrays.length - 1], tensors[tensors.length - 1].toTypedArray() as Float32Array);
    const bars: Bar[] = [{ name: "plain loop", seconds: best(plain) }];
    show(bars);
    await painted();
    bars.push({ name: "1 thread", seconds: kernels.alone(() => best(ours)) });
    show(bars);
    await painted();
    const { threads, why } = threadStatus();
    if (threads > 1) bars.push({ name: `${threads} threads`, seconds: best(ours) });
    else bars.push({ name: "all threads", seconds: null, why: `Only one: ${why ?? "no workers are up"}.` });
    return bars;
  } finally {
    for (const t of tensors) t.dispose();
  }
}

/** Threads at work, and why there is only one if so. */
export function threadStatus(): { readonly threads: number; readonly why: string | null } {
  return scope(() => explain(() => zeros(1).neg()).kernels[0].threads);
}

/** Seconds of the quickest of several runs; short work is repeated until the clock can tell. */
function best(run: () => void): number {
  let repeats = 1;
  for (;;) {
    const t = time(run, repeats);
    if (t > 1e-3 || repeats >= 1 << 16) break;
    repeats *= t > 1e-4 ? Math.ceil(1.2e-3 / t) : 8;
  }
  let least = Number.POSITIVE_INFINITY;
  const until = performance.now() + 150;
  for (let i = 0; i < 3 || (i < 60 && performance.now() < until); i++) {
    least = Math.min(least, time(run, repeats) / repeats);
    if (performance.now() > until + 1500) break;
  }
  return least;
}

function time(run: () => void, repeats: number): number {
  const start = performance.now();
  for (let i = 0; i < repeats; i++) run();
  return (performance.now() - start) / 1000;
}

function check(want: Float32Array, got: Float32Array): void {
  for (let i = 0; i < want.length; i++) {
    if (Math.abs(want[i] - got[i]) <= 1e-4 * (1 + Math.abs(want[i]))) continue;
    throw new Error(`The results differ at ${i}: the plain loop has ${want[i]}, the kernel ${got[i]}.`);
  }
}

const painted = () => new Promise<void>((done) => requestAnimationFrame(() => setTimeout(done)));

function timeText(seconds: number): string {
  if (seconds < 1e-3) return `${(seconds * 1e6).toPrecision(3)} µs`;
  return seconds < 1 ? `${(seconds * 1e3).toPrecision(3)} ms` : `${seconds.toPrecision(3)} s`;
}
