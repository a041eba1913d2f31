/**
 * The site as it is built and served: search, a block that is edited and run, the way to the explorer and back, a phone,
 * and every program of every page, run in the page. Screenshots are taken where SITE_SCREENSHOTS names a folder.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, normalize } from "node:path/posix";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isolation } from "../../explorer/headers.mjs";
import { serveFolder } from "../../scripts/serve-folder.mjs";
import { buildSite } from "../../site/build.ts";
import { findChromium, launch } from "./chromium.ts";

const explorer = fileURLToPath(new URL("../../explorer", import.meta.url));
const out = mkdtempSync(join(tmpdir(), "strided-site-"));
const screenshots = process.env.SITE_SCREENSHOTS;
const absent =
  (findChromium() === null || !existsSync(join(explorer, "node_modules/vite"))) && !process.env.CI;
if (absent) console.warn("no Chromium, or no npm ci --prefix explorer: the site's tests are left out");

let browser: Browser;
let site: Awaited<ReturnType<typeof serveFolder>>;

beforeAll(async () => {
  if (absent) return;
  await buildSite(out);
  site = await serveFolder(out, 0, isolation);
  browser = await launch();
});

afterAll(async () => {
  await browser?.close();
  await site?.close();
  rmSync(out, { recursive: true, force: true });
});

/** Opens a page of the site; what the browser complains of fails the test. */
async function visit(
  address: string,
  visitor: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  try {
    await page.goto(site.url + address);
    await visitor(page);
    expect(complaints).toEqual([]);
  } finally {
    await context.close();
  }
}

describe.skipIf(absent)("the site", () => {
  test("a name is searched, and its section of the reference is opened", async () => {
    await visit("index.html", async (page) => {
      await page.keyboard.press("/");
      await page.locator("dialog.search input").fill("cumsum");
      const first = page.locator("#found [role=option]").first();
      expect(await first.locator("b").textContent()).toBe("cumsum");
      await page.keyboard.press("Enter");
      await page.waitForURL(/reference\/reductions\.html#cumsum$/);
      expect(await page.locator("#cumsum").isVisible()).toBe(true);
    });
  });

  test("words of a guide are found too, from a page in a folder", async () => {
    await visit("reference/views.html", async (page) => {
      await page.locator(".search-button").click();
      await page.locator("dialog.search input").fill("scopeAsync");
      const links = page.locator("#found a");
      await links.first().waitFor();
      const found = await links.evaluateAll((all) => all.map((a) => (a as HTMLAnchorElement).href));
      expect(found.some((href) => href.includes("/memory.html"))).toBe(true);
    });
  });

  test("a block is run, edited, run again, and wrong text is told with its place", async () => {
    await visit("guides/start.html", async (page) => {
      const block = page.locator(".block.live").first();
      await block.locator(".run").click();
      const rows = block.locator(".output .row");
      await rows.first().waitFor();
      expect(await rows.allTextContents()).toContain(
        "6Tensor f32 [4]  offset 4, a view of 12 elements\n[4, 5, 6, 7]",
      );
      await block
        .locator("textarea")
        .fill('import { arange } from "strided";\narange(3).map((x) => x * 100);');
      await page.keyboard.press("Control+Enter");
      await expect.poll(() => rows.allTextContents()).toEqual(["2Tensor f32 [3]\n[  0, 100, 200]"]);
      expect(await block.locator(".output summary").textContent()).toBe("What ran: 1 step");
      await block.locator(".output summary").click();
      expect(await block.locator(".output details pre").textContent()).toContain("x * 100");

      await block.locator("textarea").fill('import { arange } from "strided";\narange(3).get(7);');
      await block.locator(".run").click();
      await block.locator(".output .wrong").waitFor();
      expect(await block.locator(".output .wrong").textContent()).toContain("index 7 is out of range");
      expect(await block.locator(".twin .line.wrong").textContent()).toBe("arange(3).get(7);");
    });
  });

  test("a plot and pixels are shown as pictures, on several threads", async () => {
    await visit("plots.html", async (page) => {
      const block = page.locator(".block.live").first();
      await block.locator(".edit").click();
      await block
        .locator("textarea")
        .fill(
          [
            'import { arange, fromFunction, ready } from "strided";',
            'import { plot } from "strided/plot";',
            "plot.svg(arange(9).map((x) => x * x));",
            'fromFunction((i, j, c) => i * 8 + c, [32, 32, 3], { dtype: "u8" });',
          ].join("\n"),
        );
      await block.locator(".run").click();
      await block.locator(".output canvas").waitFor();
      const drawn = await block
        .locator(".output img")
        .evaluate((img) => (img as HTMLImageElement).naturalWidth);
      expect(drawn).toBeGreaterThan(100);
      expect(await page.evaluate(() => crossOriginIsolated)).toBe(true);
    });
  });

  test("plot prints below its program, and types are told how to go", async () => {
    await visit("guides/start.html", async (page) => {
      const block = page.locator(".block.live").first();
      const program = async (...lines: string[]) => {
        await block.locator("textarea").fill(lines.join("\n"));
        await block.locator(".run").click();
      };
      await block.locator(".edit").click();
      await program(
        'import { arange } from "strided";',
        'import { plot } from "strided/plot";',
        "for (const n of [2, 3]) plot(arange(n).mul(50));",
      );
      const rows = block.locator(".output .row");
      await expect.poll(() => rows.count()).toBe(2);
      expect(await rows.allTextContents()).toEqual([
        expect.stringContaining("50 ┤"),
        expect.stringContaining("100 ┤"),
      ]);

      const typed = [
        "const t: number = 3;",
        "interface Point { x: number }",
        "type Point = number;",
        "const t = 3 as number;",
        "function f(x?: number) {}",
      ];
      for (const line of typed) {
        await program(line);
        await block.locator(".twin .line.wrong", { hasText: line }).waitFor();
        const wrong = await block.locator(".output .wrong").textContent();
        expect(wrong, line).toContain("Programs run as JavaScript here: leave the types out.");
      }
      await program("const t = ;");
      await block.locator(".twin .line.wrong", { hasText: "const t = ;" }).waitFor();
      expect(await block.locator(".output .wrong").textContent()).not.toContain("JavaScript");
    });
  });

  test("the explorer is a page of it, with a way back; colours stay as chosen", async () => {
    await visit("index.html", async (page) => {
      await page.locator(".icon.theme").click();
      expect(await page.locator("html").getAttribute("data-theme")).toBe("light");
      await page.locator("nav.main a", { hasText: "Explorer" }).click();
      await page.waitForURL(/explorer\/index\.html$/);
      await page.locator("#memory h2").first().waitFor();
      expect(await page.locator("html").getAttribute("data-theme")).toBe("light");
      await page.locator(".brand a").click();
      await page.waitForURL(/\/index\.html$/);
      expect(await page.locator("h1").textContent()).toContain("memory model");
    });
  });

  test("on a phone the pages are behind a button, and nothing is wider than the screen", async () => {
    const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
    for (const address of ["index.html", "tour.html", "reference/tensor.html", "benchmarks/index.html"]) {
      await visit(
        address,
        async (page) => {
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          expect(wide, address).toBeLessThanOrEqual(390);
        },
        phone,
      );
    }
    await visit(
      "tour.html",
      async (page) => {
        expect(await page.locator(".sidebar").isVisible()).toBe(false);
        await page.locator(".icon.menu").click();
        await page.locator(".sidebar a", { hasText: "Memory layout" }).click();
        await page.waitForURL(/memory-layout\.html$/);
      },
      phone,
    );
  });

  test("every program of every page runs in the page", async () => {
    const programs = readdirSync(out, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".html") && !name.startsWith("explorer"))
      .flatMap((address) => programsIn(address));
    expect(programs.length).toBeGreaterThan(500);
    await visit("index.html", async (page) => {
      await page.locator(".block.live .run").first().click();
      await page.locator(".output .row").first().waitFor();
      // As text: what turns this file into JavaScript would turn import() into something of its own.
      const mistakes = await page.evaluate(`(async (programs) => {
        const loaded = performance.getEntriesByType("resource").map((e) => e.name);
        const { runText } = await import(loaded.find((name) => /\\/live-\\w+\\.js$/.test(name)));
        const wrong = [];
        for (const { where, code } of programs) {
          const { mistake, tensors } = await runText(code);
          if (mistake !== null) wrong.push(where + ": " + mistake.message);
          for (const { tensor } of tensors) if (!tensor.isDisposed) tensor.dispose();
        }
        return wrong;
      })(${JSON.stringify(programs)})`);
      expect(mistakes).toEqual([]);
    });
  });

  test("every link of every built page leads somewhere, on the site", () => {
    const addresses = readdirSync(out, { recursive: true, encoding: "utf8" }).filter((n) =>
      n.endsWith(".html"),
    );
    const texts = new Map(addresses.map((a) => [a, readFileSync(join(out, a), "utf8")]));
    const ids = new Map(
      [...texts].map(([a, text]) => [a, new Set([...text.matchAll(/ id="([^"]*)"/g)].map((m) => m[1]))]),
    );
    const broken: string[] = [];
    for (const [address, text] of texts) {
      for (const [, link] of text.matchAll(/ (?:href|src)="([^"]*)"/g)) {
        if (/^(https?|data):/.test(link)) continue;
        const [path, anchor] = link.split("#");
        const target = path === "" ? address : normalize(join(dirname(address), path));
        const isThere = existsSync(join(out, target)) && !target.startsWith("..");
        if (!isThere || (anchor !== undefined && !ids.get(target)?.has(anchor)))
          broken.push(`${address}: ${link}`);
      }
    }
    expect(broken).toEqual([]);
  });

  test.skipIf(screenshots === undefined).each([
    ["desktop", { width: 1440, height: 900 }],
    ["phone", { width: 390, height: 844 }],
  ] as const)("pictures of it on a %s, light and dark", async (kind, viewport) => {
    const folder = screenshots as string;
    mkdirSync(folder, { recursive: true });
    for (const colorScheme of ["light", "dark"] as const) {
      for (const address of ["index", "guides/start", "reference/reductions", "benchmarks/index"]) {
        await visit(
          `${address}.html`,
          async (page) => {
            const run = page.locator(".block.live .run").first();
            if (address === "guides/start") {
              await run.click();
              await page.locator(".output .row").first().waitFor();
            }
            const name = `${address.replace("/", "-")}-${kind}-${colorScheme}.png`;
            await page.screenshot({ path: join(folder, name) });
            expect(existsSync(join(folder, name))).toBe(true);
          },
          { viewport, colorScheme },
        );
      }
    }
  });
});

/** The programs of a built page, as a visitor would run them. */
function programsIn(address: string): { readonly where: string; readonly code: string }[] {
  const html = readFileSync(join(out, address), "utf8");
  return [...html.matchAll(/<div class="block live"><pre[^>]*><code>(.*?)<\/code>/gs)].map(([, code], i) => ({
    where: `${address}, program ${i + 1}`,
    code: code
      .replace(/<[^>]*>/g, "")
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&amp;", "&"),
  }));
}
