/** Two moons, live: a small network learns which crescent a point belongs to, and the map shows what it has learnt. */
import { treeLeaves, valueAndGrad } from "../../../src/grad.ts";
import { concat, cos, linspace, ones, random, sin, stack, tanh, tensor, zeros } from "../../../src/index.ts";
import * as nn from "../../../src/nn.ts";
import { scope, type Tensor } from "../core.ts";
import { fill, h, icon, svg } from "../dom.ts";

const [COLUMNS, ROWS] = [80, 50];
const [LEFT, TOP, ACROSS, DOWN] = [-1.6, 1.5, 4.2, 2.5];
const POINTS = 200;
/** Milliseconds of a picture that steps may take. */
const SLICE = 12;

type Params = Readonly<Record<"first" | "second" | "last", ReturnType<typeof nn.linear.init>>>;
interface Data {
  readonly x: Tensor;
  readonly y: Tensor;
}

const model = (p: Params, x: Tensor): Tensor =>
  nn.linear(p.last, tanh(nn.linear(p.second, tanh(nn.linear(p.first, x)))));
const loss = (p: Params, { x, y }: Data): Tensor => nn.crossEntropy(model(p, x), y);
const stepOf = valueAndGrad(loss);

export class Moons {
  readonly #canvas = h("canvas", { width: 640, height: 400, role: "img", "aria-label": "The decision map" });
  readonly #curve = svg("svg", {
    viewBox: "0 0 300 120",
    class: "curve",
    role: "img",
    "aria-label": "The loss, step by step",
  });
  readonly #said = h("p", { class: "formula said", role: "status" });
  readonly #play = h("button", { type: "button", class: "play", onclick: () => this.#toggle() });
  readonly #rate = h("input", { id: "rate", type: "range", min: 0, max: 100, value: 65 });
  readonly #width = h("input", {
    id: "width",
    type: "number",
    min: 1,
    max: 128,
    value: 16,
    onchange: () => this.#reset(),
  });
  readonly #noise = h("input", {
    id: "noise",
    type: "range",
    min: 0,
    max: 100,
    value: 25,
    onchange: () => this.#reset(),
  });
  readonly #grid: Tensor;
  #data: Data | null = null;
  #params: Params | null = null;
  #optimiser: nn.Optimiser | null = null;
  #points: number[][] = [];
  #losses: number[] = [];
  #time = 0;
  #frame: number | undefined;

  constructor(root: HTMLElement) {
    const points = Array.from({ length: ROWS * COLUMNS }, (_, k) => [
      LEFT + (ACROSS * ((k % COLUMNS) + 0.5)) / COLUMNS,
      TOP - (DOWN * (Math.floor(k / COLUMNS) + 0.5)) / ROWS,
    ]);
    this.#grid = tensor(points);
    root.append(
      h(
        "div",
        { class: "head" },
        h("h2", { id: "moons-title" }, "Two moons, learnt live"),
        h("p", {}, "Two hidden layers of tanh, cross-entropy and Adam, on this page's threads."),
      ),
      h(
        "div",
        { class: "bar" },
        this.#play,
        h("button", { type: "button", onclick: () => this.#one() }, "One step"),
        h("button", { type: "button", onclick: () => this.#reset() }, "Begin anew"),
        h("span", { class: "field" }, h("label", { for: "rate" }, "Learning rate"), this.#rate),
        h("span", { class: "field" }, h("label", { for: "width" }, "Hidden units"), this.#width),
        h("span", { class: "field" }, h("label", { for: "noise" }, "Noise"), this.#noise),
      ),
      this.#said,
      h("div", { class: "moons" }, this.#canvas, this.#curve),
    );
    this.#reset();
  }

  #reset(): void {
    this.#stop();
    for (const { tensor: t } of treeLeaves([this.#params, this.#data, this.#optimiser?.state])) t.dispose();
    const width = Math.max(1, Math.min(128, Math.round(Number(this.#width.value)) || 16));
    const rng = random.generator(3);
    const made = scope(() => {
      const angle = linspace(0, Math.PI, POINTS);
      const upper = stack([cos(angle), sin(angle)], { axis: 1 });
      const lower = stack([cos(angle).neg().add(1), sin(angle).neg().add(0.5)], { axis: 1 });
      const std = (0.4 * Number(this.#noise.value)) / 100;
      const x = concat([upper, lower]).add(rng.normal([2 * POINTS, 2]).mul(std));
      const y = concat([zeros([POINTS], { dtype: "i32" }), ones([POINTS], { dtype: "i32" })]);
      const params = {
        first: nn.linear.init(2, width, { rng }),
        second: nn.linear.init(width, width, { rng }),
        last: nn.linear.init(width, 2, { rng }),
      };
      return { x, y, params };
    });
    this.#data = { x: made.x, y: made.y };
    this.#params = made.params;
    this.#points = made.x.toArray() as number[][];
    this.#optimiser = nn.adam(made.params as never, { lr: this.#lr });
    this.#losses = [];
    this.#time = 0;
    this.#draw();
  }

  get #lr(): number {
    return 10 ** (-4 + (3.3 * Number(this.#rate.value)) / 100);
  }

  #toggle(): void {
    if (this.#frame !== undefined) this.#stop();
    else {
      this.#frame = requestAnimationFrame(() => this.#tick());
      this.#drawPlay();
    }
  }

  #stop(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    this.#drawPlay();
  }

  #one(): void {
    this.#stop();
    this.#step();
    this.#draw();
  }

  #tick(): void {
    const until = performance.now() + SLICE;
    do this.#step();
    while (performance.now() < until);
    this.#draw();
    this.#frame = requestAnimationFrame(() => this.#tick());
  }

  #step(): void {
    const start = performance.now();
    scope(() => {
      const { value, grads } = stepOf(this.#params!, this.#data!);
      this.#optimiser!.lr = this.#lr;
      this.#optimiser!.step(grads);
      this.#losses.push(Number(value.item()));
    });
    this.#time += performance.now() - start;
  }

  #drawPlay(): void {
    const isPlaying = this.#frame !== undefined;
    fill(this.#play, icon(isPlaying ? "pause" : "play"), isPlaying ? "Pause" : "Train");
  }

  #draw(): void {
    this.#drawMap();
    this.#drawCurve();
    const steps = this.#losses.length;
    if (steps === 0) this.#said.textContent = "Nothing is learnt yet: the map is what chance made it.";
    else {
      const right = scope(() => nn.accuracy(model(this.#params!, this.#data!.x), this.#data!.y));
      const last = this.#losses.at(-1)!;
      const each = this.#time / steps;
      this.#said.textContent = `step ${steps}: loss ${last.toFixed(4)}, ${(100 * right).toFixed(1)} % right, ${each.toFixed(2)} ms a step`;
    }
  }

  /** How sure the network is, cell by cell, and the points over it. */
  #drawMap(): void {
    const context = this.#canvas.getContext("2d")!;
    const sure = scope(() => {
      const scores = model(this.#params!, this.#grid);
      return scores.slice(":", 1).sub(scores.slice(":", 0)).sigmoid().toTypedArray() as Float32Array;
    });
    const [w, hh] = [this.#canvas.width / COLUMNS, this.#canvas.height / ROWS];
    for (let k = 0; k < sure.length; k++) {
      const p = sure[k];
      const [r, g, b] = [0, 1, 2].map((i) => Math.round(blue[i] + (orange[i] - blue[i]) * p));
      context.fillStyle = `rgb(${r},${g},${b})`;
      context.fillRect((k % COLUMNS) * w, Math.floor(k / COLUMNS) * hh, w + 1, hh + 1);
    }
    this.#points.forEach(([x, y], i) => {
      context.beginPath();
      const [px, py] = [((x - LEFT) / ACROSS) * this.#canvas.width, ((TOP - y) / DOWN) * this.#canvas.height];
      context.arc(px, py, 4, 0, 2 * Math.PI);
      context.fillStyle = i < POINTS ? "#1f4e79" : "#b03a06";
      context.strokeStyle = "#ffffff";
      context.fill();
      context.stroke();
    });
  }

  #drawCurve(): void {
    const all = this.#losses;
    const most = Math.max(0.1, ...all.slice(0, 5));
    const every = Math.max(1, Math.floor(all.length / 300));
    const shown = all.filter((_, i) => i % every === 0);
    const points = shown.map((v, i) => {
      const x = 30 + (265 * i) / Math.max(1, shown.length - 1);
      return `${x.toFixed(1)},${(110 - (100 * Math.min(v, most)) / most).toFixed(1)}`;
    });
    this.#curve.replaceChildren(
      svg("line", { x1: "30", y1: "110", x2: "295", y2: "110", class: "axis" }),
      svg("line", { x1: "30", y1: "5", x2: "30", y2: "110", class: "axis" }),
      svg("text", { x: "26", y: "14", class: "tick" }, most.toFixed(1)),
      svg("text", { x: "26", y: "113", class: "tick" }, "0"),
      svg("polyline", { points: points.join(" "), class: "loss" }),
    );
  }
}

const blue = [196, 217, 235] as const;
const orange = [250, 212, 186] as const;
