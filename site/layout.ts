/** The frame around a page: header, sidebar in the order of pages.ts, what is on the page, the page before and after. */
import { dirname, relative } from "node:path/posix";
import { policy } from "../explorer/headers.mjs";
import { escapeHtml } from "../explorer/src/highlight.ts";
import type { Section } from "./render.ts";

export interface Entry {
  readonly address: string;
  /** In the sidebar. */
  readonly label: string;
}
export interface NavGroup {
  readonly title: string;
  readonly entries: readonly Entry[];
}

export interface PageParts {
  readonly address: string;
  readonly title: string;
  readonly html: string;
  readonly sections: readonly Section[];
}

const icon = (path: string) => `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${path}"/></svg>`;
const icons = {
  search: icon(
    "M10 3a7 7 0 1 0 4.200 12.600l5.100 5.100 1.400-1.400-5.100-5.100A7 7 0 0 0 10 3zm0 2a5 5 0 1 1 0 10 5 5 0 0 1 0-10z",
  ),
  theme: icon("M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18v-2a7 7 0 0 0 0-14z"),
  menu: icon("M3 5h18v2H3zm0 6h18v2H3zm0 6h18v2H3z"),
};

export function layout(page: PageParts, nav: readonly NavGroup[]): string {
  const to = (address: string) => relative(dirname(page.address), address) || "index.html";
  const root = to("index.html").replace(/index\.html$/, "") || "./";
  const isHome = page.address === "index.html";
  const all = nav.flatMap((g) => g.entries);
  const at = all.findIndex((e) => e.address === page.address);
  const link = (e: Entry) => {
    const current = e.address === page.address ? ' aria-current="page"' : "";
    return `<li><a href="${to(e.address)}"${current}>${escapeHtml(e.label)}</a></li>`;
  };
  const sidebar = nav
    .map((g) => {
      const open = isHome || g.entries.some((e) => e.address === page.address) || g.title !== "Reference";
      return `<details${open ? " open" : ""}><summary>${g.title}</summary><ul>${g.entries.map(link).join("")}</ul></details>`;
    })
    .join("\n");
  const inner = page.sections.filter((s) => s.depth === 2 || s.depth === 3);
  const contents =
    inner.length < 2
      ? ""
      : `<nav class="contents" aria-label="On this page"><p>On this page</p><ul>${inner
          .map((s) => `<li class="d${s.depth}"><a href="#${s.anchor}">${escapeHtml(s.heading)}</a></li>`)
          .join("")}</ul></nav>`;
  const neighbour = (e: Entry | undefined, rel: string, word: string) =>
    e === undefined
      ? "<span></span>"
      : `<a rel="${rel}" href="${to(e.address)}"><span>${word}</span> ${escapeHtml(e.label)}</a>`;
  const around =
    at < 0
      ? ""
      : `<nav class="around" aria-label="Pages before and after">${neighbour(all[at - 1], "prev", "Before:")}${neighbour(all[at + 1], "next", "Next:")}</nav>`;
  const title = isHome
    ? "strided: NumPy's memory model, Numba's compiler, TypeScript"
    : `${page.title} · strided`;
  const description = page.sections.find((s) => s.text !== "")?.text.slice(0, 180) ?? title;
  return `<!doctype html>
<html lang="en" data-root="${root}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<meta name="description" content="${escapeHtml(description).replaceAll('"', "&quot;")}">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${root}icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${root}assets/style.css">
<script src="${root}assets/theme.js"></script>
<script type="module" src="${root}assets/main.js"></script>
</head>
<body${isHome ? ' class="home"' : ""}>
<a class="skip" href="#main">Skip to the page</a>
<header class="top">
<button type="button" class="icon menu" aria-label="Pages" aria-expanded="false" aria-controls="pages">${icons.menu}</button>
<a class="brand" href="${to("index.html")}"><img src="${root}icon.svg" width="24" height="24" alt=""> strided</a>
<nav class="main" aria-label="Main"><a href="${to("guides/start.html")}">Guides</a><a href="${to("reference/index.html")}">Reference</a><a href="${to("benchmarks/index.html")}">Benchmark</a><a href="${to("explorer/index.html")}">Explorer</a></nav>
<button type="button" class="search-button">${icons.search}<span>Search</span> <kbd>/</kbd></button>
<button type="button" class="icon theme" aria-label="Colours">${icons.theme}</button>
</header>
<dialog class="search" aria-label="Search">
<input type="search" placeholder="Functions, guides, words…" aria-label="Search all pages" autocomplete="off" spellcheck="false" role="combobox" aria-controls="found" aria-expanded="true">
<ul id="found" role="listbox" aria-label="Found"></ul>
<p class="hint"></p>
</dialog>
<div class="frame">
<nav class="sidebar" id="pages" aria-label="Pages">
${sidebar}
</nav>
<main id="main">
<article>
${page.html}
</article>
${around}
</main>
${contents}
</div>
<p id="editor-help" hidden>Ctrl+Enter runs the program; Tab leaves the editor.</p>
</body>
</html>
`;
}
