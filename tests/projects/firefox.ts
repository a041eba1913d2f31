/**
 * Debian's (or any other) Firefox, driven over Marionette, the protocol it brings along: lengths and JSON over TCP, so no
 * driver has to be installed. One process serves all visits.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const places = [
  process.env.FIREFOX,
  "/usr/bin/firefox-esr",
  "/usr/bin/firefox",
  "/Applications/Firefox.app/Contents/MacOS/firefox",
];

export function findFirefox(): string | null {
  return places.find((p) => p !== undefined && existsSync(p)) ?? null;
}

const pause = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds));

/** [1, id, error, value] for each [0, id, command, parameters]. */
class Marionette {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, (error: unknown, value: unknown) => void>();
  #received = Buffer.alloc(0);
  #id = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (data) => {
      this.#received = Buffer.concat([this.#received, data]);
      this.#read();
    });
    socket.on("close", () => {
      for (const answer of this.#waiting.values()) answer({ message: "Firefox has ended" }, null);
    });
    socket.on("error", () => {});
  }

  #read(): void {
    for (;;) {
      const colon = this.#received.indexOf(":");
      if (colon < 0) return;
      const end = colon + 1 + Number(this.#received.subarray(0, colon));
      if (this.#received.length < end) return;
      const message = JSON.parse(this.#received.subarray(colon + 1, end).toString("utf8"));
      this.#received = this.#received.subarray(end);
      if (!Array.isArray(message)) continue; // the greeting
      const [, id, error, value] = message;
      this.#waiting.get(id)?.(error, value);
      this.#waiting.delete(id);
    }
  }

  send(command: string, parameters: object = {}): Promise<{ value?: unknown }> {
    const id = ++this.#id;
    return new Promise((done, failed) => {
      this.#waiting.set(id, (error, value) => {
        if (error === null) done(value as { value?: unknown });
        else failed(new Error(`${command}: ${(error as { message?: string }).message ?? "failed"}`));
      });
      const text = JSON.stringify([0, id, command, parameters]);
      this.#socket.write(`${Buffer.byteLength(text)}:${text}`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}

interface Firefox {
  readonly child: ChildProcess;
  readonly profile: string;
  readonly driver: Marionette;
}

/** What Firefox would do by itself over the network, and questions it would ask. */
const preferences: Readonly<Record<string, unknown>> = {
  "marionette.port": 0,
  "app.update.enabled": false,
  "app.normandy.enabled": false,
  "browser.shell.checkDefaultBrowser": false,
  "browser.startup.homepage_override.mstone": "ignore",
  "datareporting.policy.dataSubmissionEnabled": false,
  "extensions.update.enabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "services.settings.server": "data:,",
  "toolkit.telemetry.enabled": false,
};

async function start(): Promise<Firefox> {
  const executable = findFirefox();
  if (executable === null)
    throw new Error(
      "This needs Firefox. Install it (Debian: apt-get install firefox-esr) or name it: FIREFOX=/path.",
    );
  const profile = mkdtempSync(join(tmpdir(), "strided-firefox-"));
  const prefs = Object.entries(preferences).map(
    ([k, v]) => `user_pref(${JSON.stringify(k)}, ${JSON.stringify(v)});`,
  );
  writeFileSync(join(profile, "user.js"), prefs.join("\n"));
  const child = spawn(executable, ["--headless", "--no-remote", "--marionette", "--profile", profile], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, MOZ_HEADLESS: "1", HOME: profile },
    detached: true,
  });
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text) => {
    said = (said + text).slice(-4000);
  });
  const file = join(profile, "MarionetteActivePort");
  for (let i = 0; !existsSync(file) || readFileSync(file, "utf8") === ""; i++) {
    if (i > 600 || child.exitCode !== null) throw new Error(`Firefox does not come up:\n${said}`);
    await pause(100);
  }
  const socket = connect(Number(readFileSync(file, "utf8")), "127.0.0.1");
  const driver = new Marionette(socket);
  await driver.send("WebDriver:NewSession", { capabilities: {} });
  return { child, profile, driver };
}

let firefox: Promise<Firefox> | undefined;

/** What the page at this address left in `globalThis.result`. */
export async function visitFirefox(url: string): Promise<unknown> {
  firefox ??= start();
  const { driver } = await firefox;
  await driver.send("WebDriver:Navigate", { url });
  const until = performance.now() + 60_000;
  for (;;) {
    const script = "return JSON.stringify(window.wrappedJSObject?.result ?? window.result ?? null);";
    const { value } = await driver.send("WebDriver:ExecuteScript", { script, args: [] });
    const result = JSON.parse(String(value ?? "null"));
    if (result !== null) return result;
    if (performance.now() > until) throw new Error("the page gave no result in Firefox");
    await pause(50);
  }
}

export async function closeFirefox(): Promise<void> {
  if (firefox === undefined) return;
  const { child, profile, driver } = await firefox;
  const ended = new Promise((done) => child.once("exit", done));
  driver.send("Marionette:Quit", { flags: ["eForceQuit"] }).catch(() => {});
  const timer = setTimeout(() => child.pid !== undefined && process.kill(-child.pid, "SIGKILL"), 5000);
  await ended;
  clearTimeout(timer);
  driver.close();
  rmSync(profile, { recursive: true, force: true });
}
