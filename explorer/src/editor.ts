/** A text area with its highlighted twin beneath it. The Tab key keeps its meaning: it leaves the editor. */
import { h } from "./dom.ts";
import { highlight } from "./highlight.ts";

export class Editor {
  readonly element: HTMLElement;
  readonly #area: HTMLTextAreaElement;
  readonly #twin = h("pre", { class: "twin", "aria-hidden": "true" });
  #marked: number | null = null;
  /** The twin's lines as they are. */
  #lines: readonly string[] = [];

  constructor(label: string, onRun: () => void, onEdit: () => void) {
    this.#area = h("textarea", {
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      wrap: "off",
      "aria-label": label,
      "aria-describedby": "editor-help",
    });
    this.#area.addEventListener("input", () => {
      this.#marked = null;
      this.#draw();
      onEdit();
    });
    this.#area.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        onRun();
      } else this.#indent(event);
    });
    this.element = h("div", { class: "editor" }, h("div", { class: "editor-sheet" }, this.#twin, this.#area));
  }

  get value(): string {
    return this.#area.value;
  }
  set value(code: string) {
    this.#area.value = code;
    this.#marked = null;
    this.#draw();
  }

  /** Shows the line where something is wrong. */
  mark(line: number | null): void {
    this.#marked = line;
    this.#draw();
  }

  /** Puts the cursor at the start of a line. */
  goTo(line: number): void {
    const lines = this.value.split("\n");
    const at = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    this.#area.focus();
    this.#area.setSelectionRange(at, at + (lines[line - 1]?.length ?? 0));
  }

  /** A new line begins where the last one did; two spaces deeper after an opening bracket. */
  #indent(event: KeyboardEvent): void {
    const before = this.value.slice(0, this.#area.selectionStart);
    const line = before.slice(before.lastIndexOf("\n") + 1);
    const space = (/^\s*/.exec(line) ?? [""])[0] + (/[{([]\s*$/.test(line) ? "  " : "");
    if (space === "") return;
    event.preventDefault();
    // The one way to insert text that undo knows of.
    document.execCommand("insertText", false, `\n${space}`);
  }

  #draw(): void {
    const lines = highlight(this.value, "js")
      .split("\n")
      .map((line, i) => `<span class="line${i + 1 === this.#marked ? " wrong" : ""}">${line || " "}</span>`);
    // Only the lines that changed are made anew: those between what is the same at the start and at the end.
    const had = this.#lines;
    const least = Math.min(had.length, lines.length);
    let start = 0;
    while (start < least && had[start] === lines[start]) start++;
    let end = 0;
    while (end < least - start && had[had.length - 1 - end] === lines[lines.length - 1 - end]) end++;
    const template = document.createElement("template");
    template.innerHTML = lines.slice(start, lines.length - end).join("");
    const old = [...this.#twin.children].slice(start, had.length - end);
    const before = this.#twin.children[had.length - end] ?? null;
    for (const line of old) line.remove();
    this.#twin.insertBefore(template.content, before);
    this.#lines = lines;
  }
}
