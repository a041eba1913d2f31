/** A Redis of a test's own, on loopback (or an address that only this machine has) and a free port; it may be killed and started again over the same file. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "./fake.ts";

/** Null where it is there; otherwise what to say. In CI it must be there. */
export const noRedis: string | null =
  spawnSync("redis-server", ["--version"]).status === 0 || process.env.CI === "true"
    ? null
    : "redis-server is not installed: apt-get install redis-server";

const freePort = (host: string): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, host, () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

const answers = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port }, () => socket.write("PING\r\n"));
    socket.once("data", (data) => {
      socket.destroy();
      resolve(String(data).startsWith("+PONG"));
    });
    socket.once("error", () => resolve(false));
  });

export class Redis {
  readonly port: number;
  readonly host: string;
  readonly #folder: string;
  #process: ChildProcess | null = null;

  private constructor(host: string, port: number, folder: string) {
    this.host = host;
    this.port = port;
    this.#folder = folder;
  }

  static async start(host = "127.0.0.1"): Promise<Redis> {
    const redis = new Redis(host, await freePort(host), mkdtempSync(join(tmpdir(), "strided-redis-")));
    await redis.up();
    return redis;
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  /** Every change is in the file before it is answered: what is lost when the process is killed is nothing. */
  async up(): Promise<void> {
    const args = [
      "--port",
      String(this.port),
      "--bind",
      this.host,
      "--dir",
      this.#folder,
      "--save",
      "",
      "--protected-mode",
      "no",
    ];
    this.#process = spawn("redis-server", [...args, "--appendonly", "yes", "--appendfsync", "everysec"], {
      stdio: "ignore",
    });
    await until(() => answers(this.host, this.port), 20, "Redis answers");
  }

  /** Bytes that it uses. */
  used(): Promise<number> {
    return new Promise((resolve, reject) => {
      let text = "";
      const socket = connect({ host: this.host, port: this.port }, () => socket.write("INFO memory\r\n"));
      socket.on("data", (data) => {
        text += data;
        const found = /used_memory:(\d+)/.exec(text);
        if (found === null) return;
        socket.destroy();
        resolve(Number(found[1]));
      });
      socket.once("error", reject);
    });
  }

  async kill(): Promise<void> {
    const running = this.#process;
    if (running === null) return;
    this.#process = null;
    const gone = new Promise((resolve) => running.once("exit", resolve));
    running.kill("SIGKILL");
    await gone;
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
