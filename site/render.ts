/** Markdown to the HTML of a page: headings with anchors, links between pages, code that can be run. */
import { existsSync, statSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path/posix";
import { Marked, type Tokens } from "marked";
import { escapeHtml, highlight } from "../explorer/src/highlight.ts";

/** A part of a page under one heading, as the search knows it. */
export interface Section {
  readonly anchor: string;
  readonly heading: string;
  readonly depth: number;
  readonly text: string;
}

export interface Rendered {
  readonly title: string;
  readonly html: string;
  readonly sections: readonly Section[];
  /** Files of the repository that the page shows or links to: pictures, data, sources. */
  readonly files: readonly string[];
}

/** Where a file of the repository is on the site: docs/ is its root, and README.md is the index of its folder. */
export function addressOf(file: string): string {
  if (file === "README.md") return "tour.html";
  if (file === "site/home.md") return "index.html";
  const inside = file.replace(/^docs\//, "");
  if (/(^|\/)README\.md$/.test(inside)) return inside.replace(/README\.md$/, "index.html");
  if (inside.endsWith(".md")) return inside.toLowerCase().replace(/\.md$/, ".html");
  return file.startsWith("docs/") ? inside : `source/${file}.html`;
}

/** As repository hosts make anchors of headings. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

const plain = (html: string) =>
  html
    .replace(/<[^>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");

const languages: Readonly<Record<string, "js" | "wat">> = {
  ts: "js",
  js: "js",
  typescript: "js",
  javascript: "js",
  json: "js",
  tsx: "js",
  wat: "wat",
  wasm: "wat",
};

/** Programs that write files, or take Node's Buffer: a page has neither. */
const needsFiles = /\bsave\w*\(|\.folderStore\(|\bto\.buffer\(|from "node:/;

/** Renders the markdown of a file of the repository, whose links are relative to it. */
export function render(root: string, file: string, markdown: string): Rendered {
  const files: string[] = [];
  const sections: { anchor: string; heading: string; depth: number; text: string[] }[] = [];
  const anchors = new Map<string, number>();
  const here = dirname(addressOf(file));

  const resolve = (link: string): string => {
    if (/^[a-z]+:/i.test(link)) return link;
    const [path, anchor] = link.split("#");
    const hash = anchor === undefined ? "" : `#${anchor}`;
    if (path === "") return hash;
    let target = normalize(join(dirname(file), path)).replace(/\/$/, "");
    const at = join(root, target);
    if (!existsSync(at)) throw new Error(`${file} links to ${link}, which does not exist`);
    if (statSync(at).isDirectory()) target = `${target}/README.md`;
    else if (!target.endsWith(".md")) files.push(target);
    return `${relative(here, addressOf(target)) || "index.html"}${hash}`;
  };

  const marked = new Marked({ gfm: true });
  marked.use({
    renderer: {
      heading({ tokens, depth }: Tokens.Heading) {
        const html = this.parser.parseInline(tokens);
        const text = plain(html);
        const base = anchorOf(text);
        const seen = anchors.get(base) ?? 0;
        anchors.set(base, seen + 1);
        const anchor = seen === 0 ? base : `${base}-${seen}`;
        sections.push({ anchor, heading: text, depth, text: [] });
        if (depth === 1) return `<h1 id="${anchor}">${html}</h1>\n`;
        return `<h${depth} id="${anchor}"><a class="anchor" href="#${anchor}" aria-label="Link to ${escapeHtml(text)}">#</a>${html}</h${depth}>\n`;
      },
      paragraph({ tokens }: Tokens.Paragraph) {
        const html = this.parser.parseInline(tokens);
        sections.at(-1)?.text.push(plain(html));
        return `<p>${html}</p>\n`;
      },
      text(token) {
        const html =
          "tokens" in token && token.tokens ? this.parser.parseInline(token.tokens) : escaped(token);
        if ("tokens" in token && token.tokens) sections.at(-1)?.text.push(plain(html));
        return html;
      },
      tablecell({ tokens, header, align }: Tokens.TableCell) {
        const html = this.parser.parseInline(tokens);
        sections.at(-1)?.text.push(plain(html));
        const tag = header ? "th" : "td";
        return `<${tag}${align ? ` class="${align}"` : ""}>${html}</${tag}>`;
      },
      table(token: Tokens.Table) {
        const row = (cells: readonly Tokens.TableCell[]) =>
          `<tr>${cells.map((c) => this.tablecell(c)).join("")}</tr>`;
        const body = token.rows.map(row).join("\n");
        return `<div class="table" tabindex="0"><table><thead>${row(token.header)}</thead><tbody>${body}</tbody></table></div>\n`;
      },
      code({ text, lang }: Tokens.Code) {
        const language = languages[lang ?? ""];
        const html = language === undefined ? escapeHtml(text) : highlight(text, language);
        const pre = `<pre tabindex="0"><code>${html}</code></pre>`;
        const runs = lang === "ts" && !needsFiles.test(text);
        return `<div class="block${runs ? " live" : ""}">${pre}</div>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        return `<a href="${escapeAttribute(resolve(href))}">${this.parser.parseInline(tokens)}</a>`;
      },
      image({ href, text }: Tokens.Image) {
        const chart = href.endsWith(".svg") ? ' class="chart"' : "";
        return `<img${chart} src="${escapeAttribute(resolve(href))}" alt="${escapeAttribute(text)}" loading="lazy">`;
      },
      html({ text }) {
        return text.startsWith("<!--") ? "" : escapeHtml(text);
      },
    },
  });
  const html = marked.parse(markdown, { async: false });
  return {
    title: sections[0]?.heading ?? file,
    html,
    sections: sections.map((s) => ({ ...s, text: s.text.join(" ").replace(/\s+/g, " ") })),
    files,
  };
}

const escaped = (token: { text: string; escaped?: boolean }) =>
  token.escaped ? token.text : escapeHtml(token.text);
const escapeAttribute = (text: string) => escapeHtml(text).replaceAll('"', "&quot;");
