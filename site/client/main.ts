/** What every page does: colours, the list of pages on a phone, search, copying code, and the way to run it. */
import { applyTheme, nextTheme } from "../../explorer/src/theme.ts";
import { prepareSearch } from "./search.ts";

const html = document.documentElement;
/** From this page to the root of the site. */
const root = new URL(html.dataset.root ?? "./", location.href).href;

const one = <E extends Element>(selector: string) => document.querySelector<E>(selector);

const theme = one<HTMLButtonElement>(".icon.theme");
if (theme !== null) {
  applyTheme(theme);
  theme.addEventListener("click", () => nextTheme(theme));
}

const menu = one<HTMLButtonElement>(".icon.menu");
menu?.addEventListener("click", () => {
  const open = menu.getAttribute("aria-expanded") !== "true";
  menu.setAttribute("aria-expanded", String(open));
  document.body.classList.toggle("pages-open", open);
});
// The place in a long list is kept in sight, without moving the page.
const current = one<HTMLElement>('.sidebar a[aria-current="page"]');
const sidebar = one<HTMLElement>(".sidebar");
if (current !== null && sidebar !== null && current.offsetTop > sidebar.clientHeight)
  sidebar.scrollTop = current.offsetTop - sidebar.clientHeight / 2;

prepareSearch(root);

for (const block of document.querySelectorAll<HTMLElement>(".block")) tools(block);

/** Buttons of a block: copy, and where it is a program of its own, run and edit. */
function tools(block: HTMLElement): void {
  const bar = document.createElement("div");
  bar.className = "tools";
  const button = (text: string, act: (b: HTMLButtonElement) => void) => {
    const b = document.createElement("button");
    b.type = "button";
    b.textContent = text;
    b.addEventListener("click", () => act(b));
    bar.append(b);
    return b;
  };
  const textOf = () =>
    block.querySelector("textarea")?.value ?? block.querySelector("pre")?.textContent ?? "";
  if (block.classList.contains("live")) {
    const begin = async (how: "run" | "edit", b: HTMLButtonElement) => {
      b.disabled = true;
      try {
        // The engine comes with it: fetched once, when the first block is run.
        const { live } = await import("./live.ts");
        await live(block)[how]();
      } finally {
        b.disabled = false;
      }
    };
    button("Run", (b) => void begin("run", b)).classList.add("run");
    button("Edit", (b) => void begin("edit", b)).classList.add("edit");
  }
  button("Copy", (b) => {
    void navigator.clipboard.writeText(textOf()).then(() => {
      b.textContent = "Copied";
      setTimeout(() => {
        b.textContent = "Copy";
      }, 1200);
    });
  });
  block.append(bar);
}
