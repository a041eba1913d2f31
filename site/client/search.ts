/** Search over every section of every page. The index is fetched when the search is opened for the first time. */

type Row = readonly [page: string, heading: string, address: string, text: string];

interface Found {
  readonly row: Row;
  readonly score: number;
}

const MOST = 24;

/** How well a row answers all of the words; 0: not. A name that is asked for exactly comes first. */
export function scoreOf([page, heading, address, text]: Row, words: readonly string[]): number {
  const [p, h, t] = [page.toLowerCase(), heading.toLowerCase(), text.toLowerCase()];
  const last = h.slice(h.lastIndexOf(".") + 1);
  let score = 0;
  for (const word of words) {
    const part =
      h === word || last === word
        ? 100
        : h.startsWith(word) || last.startsWith(word)
          ? 60
          : h.includes(word)
            ? 30
            : p.includes(word)
              ? 12
              : t.includes(word)
                ? 5
                : 0;
    if (part === 0) return 0;
    score += part;
  }
  const isPage = !address.includes("#");
  return (
    score + (isPage ? 6 : 0) - Math.min(5, heading.length / 20) - (address.startsWith("decisions/") ? 3 : 0)
  );
}

export function prepareSearch(root: string): void {
  const dialog = document.querySelector<HTMLDialogElement>("dialog.search");
  const input = dialog?.querySelector("input");
  const list = dialog?.querySelector("ul");
  const hint = dialog?.querySelector(".hint");
  if (!dialog || !input || !list || !hint) return;
  let rows: readonly Row[] | null = null;
  let chosen = 0;

  const open = async () => {
    if (!dialog.open) dialog.showModal();
    input.select();
    if (rows !== null) return;
    hint.textContent = "Fetching the index…";
    try {
      rows = (await (await fetch(`${root}search.json`)).json()) as readonly Row[];
      show();
    } catch {
      hint.textContent = "The index could not be fetched.";
    }
  };
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    chosen = 0;
    const found: Found[] = [];
    if (words.length > 0)
      for (const row of rows ?? []) {
        const score = scoreOf(row, words);
        if (score > 0) found.push({ row, score });
      }
    found.sort((a, b) => b.score - a.score);
    list.replaceChildren(...found.slice(0, MOST).map(({ row }, i) => item(row, words, i)));
    hint.textContent =
      words.length === 0
        ? `${rows?.length ?? 0} sections. ↑ ↓ choose, Enter opens, Esc closes.`
        : found.length === 0
          ? `Nothing has “${input.value}”.`
          : found.length > MOST
            ? `${MOST} of ${found.length}; another word narrows it.`
            : "";
    mark();
  };
  const item = ([page, heading, address, text]: Row, words: readonly string[], i: number) => {
    const li = document.createElement("li");
    li.role = "option";
    li.id = `found-${i}`;
    const a = document.createElement("a");
    a.href = root + address;
    const name = document.createElement("b");
    name.textContent = heading;
    const where = document.createElement("span");
    where.textContent = heading === page ? "" : page;
    const words1 = document.createElement("small");
    words1.textContent = excerpt(text, words);
    a.append(name, where, words1);
    a.addEventListener("click", () => dialog.close());
    li.append(a);
    return li;
  };
  const mark = () => {
    [...list.children].forEach((li, i) => {
      li.setAttribute("aria-selected", String(i === chosen));
    });
    input.setAttribute("aria-activedescendant", `found-${chosen}`);
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  };
  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && list.children.length > 0) {
      event.preventDefault();
      chosen = (chosen + step + list.children.length) % list.children.length;
      mark();
    } else if (event.key === "Enter") {
      event.preventDefault();
      list.children[chosen]?.querySelector("a")?.click();
    }
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.querySelector(".search-button")?.addEventListener("click", () => void open());
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    const typing = target.matches?.("input, textarea");
    const wanted = (event.key === "/" && !typing) || (event.key === "k" && (event.ctrlKey || event.metaKey));
    if (!wanted) return;
    event.preventDefault();
    void open();
  });
}

/** The words around the first that was asked for. */
function excerpt(text: string, words: readonly string[]): string {
  const at = Math.max(0, ...words.map((w) => text.toLowerCase().indexOf(w)));
  const from = Math.max(0, at - 40);
  return `${from > 0 ? "…" : ""}${text.slice(from, from + 140)}`;
}
