/** A block of a page that runs: its text can be edited, and what it gives is shown below it, with what ran. */
import { fill, h } from "../../explorer/src/dom.ts";
import { Editor } from "../../explorer/src/editor.ts";
import { type Line, type Outcome, type Place, run } from "../../explorer/src/run.ts";
import { threadStatus } from "../../explorer/src/timing-panel.ts";
import { ready } from "../../src/engine.ts";
import { toRGBA } from "../../src/library/image.ts";

type Library = Readonly<Record<string, unknown>>;

/** The entries that a block may import from; each is fetched when one does. */
const place: Place = {
  await: true,
  seconds: 20,
  entries: {
    strided: () => import("../../src/index.ts") as Promise<Library>,
    "strided/chunked": () => import("../../src/chunked.ts") as Promise<Library>,
    "strided/grad": () => import("../../src/grad.ts") as Promise<Library>,
    "strided/interop": () => import("../../src/interop.ts") as Promise<Library>,
    "strided/io": () => import("../../src/io.ts") as Promise<Library>,
    "strided/nn": () => import("../../src/nn.ts") as Promise<Library>,
    "strided/plot": async (_, print) => plotOf(await import("../../src/plot.ts"), print),
    "strided/quantised": () => import("../../src/quantised.ts") as Promise<Library>,
  },
};

/** `plot(t)` prints: here below the program, and not in the browser's console. */
function plotOf({ plot }: typeof import("../../src/plot.ts"), print: (text: string) => void): Library {
  const printed = (t: Parameters<typeof plot>[0], options?: Parameters<typeof plot>[1]) =>
    print(plot.text(t, options));
  return { plot: Object.assign(printed, plot) };
}

export interface Live {
  run(): Promise<void>;
  edit(): Promise<void>;
}

/** Threads are started beside the first program, which waits for them half a second at most. */
const threadsUp = ready();

const known = new WeakMap<HTMLElement, Live>();

export function live(block: HTMLElement): Live {
  let made = known.get(block);
  if (made === undefined) {
    made = makeLive(block);
    known.set(block, made);
  }
  return made;
}

function makeLive(block: HTMLElement): Live {
  const pre = block.querySelector("pre");
  const editor = new Editor(
    "Program, can be edited",
    () => void start(),
    () => {},
  );
  editor.value = pre?.textContent ?? "";
  pre?.replaceWith(editor.element);
  const output = h("div", { class: "output", role: "status" });
  block.append(output);
  const start = async () => {
    block.classList.add("busy");
    await Promise.race([threadsUp, new Promise((late) => setTimeout(late, 500))]);
    const began = performance.now();
    const outcome = await run(editor.value, place);
    const took = performance.now() - began;
    editor.mark(outcome.mistake?.line ?? null);
    show(output, outcome, took);
    for (const { tensor } of outcome.tensors) if (!tensor.isDisposed) tensor.dispose();
    block.classList.remove("busy");
  };
  return {
    run: start,
    async edit() {
      editor.goTo(1);
    },
  };
}

/** Runs a program as a block would: for the test that runs all of them. */
export const runText = (code: string): Promise<Outcome> => run(code, place);

function show(output: HTMLElement, outcome: Outcome, took: number): void {
  const { threads } = threadStatus();
  const lines = outcome.output.map((line) => lineOf(line, outcome));
  const { mistake, report } = outcome;
  const wrong =
    mistake && h("pre", { class: "wrong" }, [mistake.message, mistake.excerpt].filter(Boolean).join("\n\n"));
  const steps = report === null ? 0 : report.steps.length;
  const explained =
    report !== null && steps > 0
      ? h(
          "details",
          {},
          h("summary", {}, `What ran: ${steps} ${steps === 1 ? "step" : "steps"}`),
          h("pre", {}, report.toString()),
        )
      : null;
  const nothing =
    lines.length === 0 && !mistake ? h("p", { class: "quiet" }, "It ran, and printed nothing.") : null;
  const cost = h(
    "p",
    { class: "quiet" },
    `${took.toFixed(took < 10 ? 1 : 0)} ms, ${threads} ${threads === 1 ? "thread" : "threads"}`,
  );
  fill(output, ...lines, nothing, wrong, explained, cost);
}

/** A line that was printed; a picture where it is one. */
function lineOf({ line, text }: Line, outcome: Outcome): HTMLElement {
  const place = h("span", { class: "at" }, line === null ? "" : String(line));
  const row = (content: Node) => h("div", { class: "row" }, place, content);
  if (text.startsWith("<svg")) {
    const url = `data:image/svg+xml,${encodeURIComponent(text)}`;
    return row(h("img", { src: url, alt: "The picture that the program drew" }));
  }
  const made = outcome.tensors.find((t) => t.name === `line ${line}`)?.tensor;
  if (
    made !== undefined &&
    made.dtype === "u8" &&
    made.shape.length === 3 &&
    made.shape[0] > 8 &&
    made.shape[2] >= 3
  ) {
    const [height, width] = made.shape;
    const canvas = h("canvas", { width, height });
    canvas.getContext("2d")?.putImageData(new ImageData(toRGBA(made), width, height), 0, 0);
    return row(canvas);
  }
  return row(h("pre", {}, text));
}
