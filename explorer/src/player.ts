/** Buttons and keys that go through something step by step: start, back, play, on, end, and how fast. */
import { type Child, fill, h, icon, iconButton } from "./dom.ts";

/** What is gone through. */
export interface Film {
  /** What a row is called: "row", "line". */
  readonly row: string;
  /** One step on or back; false when there is nowhere to go. */
  step(by: 1 | -1): boolean;
  /** One step of the film, a whole row for who asked for less motion; false at the end. */
  advance(isCalm: boolean): boolean;
  /** To the first step; `whole`: of a row that is shown whole at once. */
  toStart(whole: boolean): void;
  toEnd(): void;
  isAtEnd(): boolean;
  onPlay(isPlaying: boolean): void;
}

export class Player {
  readonly #bar: HTMLElement;
  readonly #film: Film;
  readonly #play = h("button", { type: "button", class: "play", onclick: () => this.#toggle() });
  readonly #speed = h("input", { id: "speed", type: "range", min: 0, max: 100, value: 25 });
  #timer: number | undefined;
  /** Nobody has stepped yet: the first Play begins at the beginning. */
  #isFresh = true;

  constructor(film: Film, ...fields: HTMLElement[]) {
    this.#film = film;
    const sayPace = () => this.#speed.setAttribute("aria-valuetext", paceText(this.#delay));
    this.#speed.addEventListener("input", sayPace);
    sayPace();
    this.#bar = h(
      "div",
      { class: "bar" },
      iconButton("start", `Back to the first ${film.row}`, () => this.halt(() => film.toStart(false))),
      iconButton("back", "One step back", () => this.halt(() => film.step(-1))),
      this.#play,
      iconButton("next", "One step on", () => this.halt(() => film.step(1))),
      iconButton("end", `To the last ${film.row}`, () => this.halt(() => film.toEnd())),
      ...fields,
      h("span", { class: "field" }, h("label", { for: "speed" }, "Speed"), this.#speed),
    );
  }

  /** The buttons, and what they go through: the keys work anywhere in it. */
  frame(...children: Child[]): HTMLElement {
    return h(
      "div",
      {
        class: "stepper",
        role: "group",
        "aria-label": "Stepper: the arrow keys step, Escape stops",
        onkeydown: (event) => this.#key(event as KeyboardEvent),
      },
      this.#bar,
      ...children,
    );
  }

  get isPlaying(): boolean {
    return this.#timer !== undefined;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#draw();
  }

  /** Somebody goes somewhere: what plays stops. */
  halt(then: () => void): void {
    this.stop();
    this.#isFresh = false;
    then();
  }

  /** As if nobody had stepped yet. */
  refresh(): void {
    this.#isFresh = true;
  }

  /** Arrow keys step, Space plays and pauses; fields, grids and tables keep their keys. */
  #key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (target.closest("input, [role=grid], .table") !== null) return;
    const act = {
      ArrowLeft: () => this.halt(() => this.#film.step(-1)),
      ArrowRight: () => this.halt(() => this.#film.step(1)),
      " ": target.closest("button") === null ? () => this.#toggle() : undefined,
    }[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  }

  #toggle(): void {
    if (this.#timer !== undefined) {
      this.stop();
      return;
    }
    if (this.#film.isAtEnd() || this.#isFresh) this.#film.toStart(isCalm());
    else this.#film.advance(isCalm());
    this.#isFresh = false;
    this.#tick();
  }

  /** Milliseconds between steps: from one in 1.6 seconds to 60 in one, evenly on a scale of ratios. */
  get #delay(): number {
    return 1600 * (16 / 1600) ** (Number(this.#speed.value) / 100);
  }

  #tick(): void {
    this.#timer = window.setTimeout(
      () => {
        if (this.#film.advance(isCalm())) this.#tick();
        else this.stop();
      },
      isCalm() ? Math.max(1000, this.#delay) : this.#delay,
    );
    this.#draw();
  }

  #draw(): void {
    this.#film.onPlay(this.isPlaying);
    fill(this.#play, icon(this.isPlaying ? "pause" : "play"), this.isPlaying ? "Pause" : "Play");
  }
}

/** Who asked for less motion: asked each time, because it can change. */
const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

function paceText(delay: number): string {
  const pace = 1000 / delay;
  return `${pace < 10 ? pace.toFixed(1) : Math.round(pace)} steps a second`;
}
