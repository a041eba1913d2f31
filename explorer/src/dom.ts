/** Making elements without a framework. */

export type Child = Node | string | null | undefined | false;
type Attributes = Readonly<
  Record<string, string | number | boolean | null | undefined | ((event: Event) => void)>
>;

/** An element with attributes (`onclick` and its like take functions; false and null leave one out) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...present(children));
  return element;
}

export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren(...present(children));
}

const present = (children: readonly Child[]) =>
  children.filter((c): c is Node | string => c !== null && c !== undefined && c !== false);

export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}

const icons = {
  play: "M8 5v14l11-7z",
  pause: "M7 5h3.5v14H7zM13.5 5H17v14h-3.5z",
  next: "M6 5v14l9-7zM16 5h2.5v14H16z",
  back: "M18 5v14l-9-7zM5.500 5H8v14H5.500z",
  start: "M20 5v14l-8-7zM12 5v14l-8-7zM2 5h2v14H2z",
  end: "M4 5v14l8-7zM12 5v14l8-7zM20 5h2v14h-2z",
  left: "M15 5l-8 7 8 7z",
  right: "M9 5l8 7-8 7z",
  link: "M10.600 13.400a1 1 0 0 1 0-1.400l3.600-3.600a3 3 0 1 1 4.200 4.200l-2.100 2.100 1.400 1.400 2.100-2.100a5 5 0 0 0-7-7l-3.600 3.600a3 3 0 0 0 0 4.200zM13.400 10.600a1 1 0 0 1 0 1.400l-3.600 3.600a3 3 0 1 1-4.200-4.200l2.100-2.100-1.400-1.400-2.100 2.100a5 5 0 0 0 7 7l3.600-3.600a3 3 0 0 0 0-4.200z",
  theme: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18v-2a7 7 0 0 0 0-14z",
} as const;
export type IconName = keyof typeof icons;

export const icon = (name: IconName): SVGElement =>
  svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: icons[name] }));

/** An element of a drawing. */
export function svg(
  tag: string,
  attributes: Readonly<Record<string, string | number>>,
  ...children: (Node | string)[]
): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** A button with a picture and a name for those who do not see it. */
export function iconButton(name: IconName, label: string, onclick: () => void): HTMLButtonElement {
  return h(
    "button",
    { type: "button", class: "icon", "aria-label": label, title: label, onclick },
    icon(name),
  );
}

/** A table that scrolls by itself; `body` takes more rows later. */
export function table(
  label: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
  body = h("tbody"),
): HTMLElement {
  body.append(...rows.map((cells) => h("tr", {}, ...cells.map((text) => h("td", {}, text)))));
  return h(
    "div",
    { class: "table", tabindex: 0, role: "region", "aria-label": label },
    h("table", {}, h("thead", {}, h("tr", {}, ...head.map((name) => h("th", { scope: "col" }, name)))), body),
  );
}

/** The text of an error. Sentences wrap; code with its caret does not. */
export function messageView(message: string): HTMLElement[] {
  const lines = message.split("\n");
  const caret = lines.findIndex((line) => /^\s*\^+\s*$/.test(line));
  const sentence = (line: string) => h("p", { class: "sentence" }, line.trim());
  if (caret < 1) return lines.map(sentence);
  return [
    ...lines.slice(0, caret - 1).map(sentence),
    h("pre", {}, lines.slice(caret - 1, caret + 1).join("\n")),
    ...lines.slice(caret + 1).map(sentence),
  ];
}

export const list = (values: readonly (number | string)[]) => `[${values.join(", ")}]`;
export const count = (n: number) => n.toLocaleString("en-GB").replaceAll(",", "\u2009");

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  if (n < 2 ** 20) return `${Number((n / 1024).toFixed(1))} KiB`;
  return `${Number((n / 2 ** 20).toFixed(1))} MiB`;
}
