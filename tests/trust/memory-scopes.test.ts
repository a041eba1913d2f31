/** scopeAsync: many at once, each with its own tensors; whatever way the function ends, they are freed. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, expectTypeOf, test } from "vitest";
import {
  type AsyncScope,
  arange,
  full,
  memory,
  scope,
  scopeAsync,
  type Tensor,
  zeros,
} from "../../src/index.ts";
import { refused } from "../refused.ts";

/** Runs `action`; all tensors made by then are gone, but for so many. */
async function leaving<R>(count: number, action: () => Promise<R>): Promise<R> {
  const before = memory().tensors;
  const result = await action();
  expect(memory().tensors - before).toBe(count);
  return result;
}

/** The message of what `promise` rejects with. */
const reason = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "no error",
    (error) => `(${error.code}) ${error.message}`,
  );

test("what a run makes and does not return is freed at its end, what it returns when the function settles", () =>
  leaving(0, async () => {
    const start = memory().tensors;
    await scopeAsync(async (s) => {
      const t = s.run(() => arange(4).add(1).mul(2));
      expect(memory().tensors - start).toBe(1);
      await sleep(1);
      const [u, v] = s.run(() => [t.add(1), t.sub(1)]);
      expect(memory().tensors - start).toBe(3);
      expect([u.toArray(), v.toArray()]).toEqual([
        [3, 5, 7, 9],
        [1, 3, 5, 7],
      ]);
    });
  }));

test("the result's tensors survive, in objects, arrays, maps and sets", async () => {
  const result = await leaving(4, () =>
    scopeAsync(async (s) => {
      const [a, b, c, d, e] = s.run(() => [1, 2, 3, 4, 5].map((x) => full([2], x)));
      await sleep(1);
      expect(e.get(0)).toBe(5);
      return { a, list: [[b]], map: new Map([["c", c]]), set: new Set([d]) };
    }),
  );
  const all = [result.a, result.list[0][0], result.map.get("c") as Tensor, ...result.set];
  expect(all.map((t) => t.get(1))).toEqual([1, 2, 3, 4]);
  for (const t of all) t.dispose();
});

test("a view of something made inside survives with its memory", async () => {
  const view = await leaving(1, () =>
    scopeAsync(async (s) => {
      const t = s.run(() => arange(10));
      await sleep(1);
      return s.run(() => t.slice("::3"));
    }),
  );
  expect(view.toArray()).toEqual([0, 3, 6, 9]);
  view.dispose();
});

test("200 at once, waiting as they like, never see each other's tensors", async () => {
  const results = await leaving(200, () =>
    Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        scopeAsync(async (s) => {
          let t = s.run(() => full([50], i));
          for (let step = 0; step < 5; step++) {
            await sleep((i * 7 + step * 13) % 5);
            const last = t;
            t = s.run(() => last.add(full([50], step)));
            expect(last.isDisposed).toBe(false);
          }
          return t;
        }),
      ),
    ),
  );
  expect(results.map((t) => t.get(49))).toEqual(results.map((_, i) => i + 10));
  for (const t of results) t.dispose();
});

test("when the function throws or rejects, everything is freed and the error passes", () =>
  leaving(0, async () => {
    const early = scopeAsync((s) => {
      s.run(() => zeros(3));
      throw new Error("at once");
    });
    await expect(early).rejects.toThrow("at once");
    const late = scopeAsync(async (s) => {
      s.run(() => zeros(3));
      await sleep(1);
      s.run(() => {
        zeros(4);
        throw new Error("in a run");
      });
    });
    await expect(late).rejects.toThrow("in a run");
  }));

test("an error in a run frees what that run made, and the function may go on", () =>
  leaving(0, async () => {
    const sum = await scopeAsync(async (s) => {
      const t = s.run(() => arange(5));
      try {
        s.run(() => t.add(zeros(3)));
      } catch {
        await sleep(1);
      }
      return s.run(() => t.sum().item());
    });
    expect(sum).toBe(10);
  }));

test("an early return, as on an abort, frees what was made until then", () =>
  leaving(0, async () => {
    const abort = new AbortController();
    const work = scopeAsync(async (s) => {
      let t = s.run(() => zeros(100));
      for (let i = 0; i < 1000; i++) {
        if (abort.signal.aborted) return `stopped at ${t.get(0)}`;
        await sleep(1);
        const last = t;
        t = s.run(() => last.add(1));
      }
      return "not stopped";
    });
    await sleep(20);
    abort.abort();
    expect(await work).toMatch(/^stopped at \d+$/);
  }));

test("what goes on after the end has no scope, and is told so", () =>
  leaving(0, async () => {
    let late: AsyncScope | undefined;
    const winner = await scopeAsync(async (s) => {
      late = s;
      const slow = sleep(30).then(() => s.run(() => zeros(3)));
      slow.catch(() => {});
      return Promise.race([slow, sleep(1, "timeout")]);
    });
    expect(winner).toBe("timeout");
    await sleep(40);
    const after = async (use: (s: AsyncScope) => unknown) => use(late as AsyncScope);
    expect(await reason(after((s) => s.run(() => zeros(3))))).toMatchInlineSnapshot(`
      "(disposed) run: the scope has ended: its async function has returned or thrown.
        Await everything that uses the scope before the function ends; a scope of its own serves what goes on."
    `);
    expect(await reason(after((s) => s.track(1)))).toMatch(/^\(disposed\) track: the scope has ended/);
  }));

test("scope inside a run, a run inside a scope, a run inside a run", () =>
  leaving(0, () =>
    scopeAsync(async (s) => {
      const start = memory().tensors;
      const a = s.run(() => scope(() => arange(3).add(1)).mul(2));
      expect(memory().tensors - start).toBe(1);
      const b = scope(() => {
        zeros(7);
        return s.run(() => a.add(1));
      });
      const c = s.run(() => {
        const inner = s.run(() => b.mul(10));
        return inner.add(1).sum().item();
      });
      await sleep(1);
      expect([a.toArray(), b.toArray(), c]).toEqual([[2, 4, 6], [3, 5, 7], 153]);
      // A run's result is the scope's, not that of the run or scope around it.
      expect(memory().tensors - start).toBe(3);
    }),
  ));

test("scopeAsync inside scopeAsync: the inner result is the caller's, who may have it tracked", () =>
  leaving(0, async () => {
    const total = await scopeAsync(async (s) => {
      const parts = await Promise.all(
        [1, 2, 3].map((k) =>
          scopeAsync(async (inner) => {
            const t = inner.run(() => full([4], k));
            await sleep(k);
            return inner.run(() => t.mul(t));
          }),
        ),
      );
      const [a, b, c] = s.track(parts);
      await sleep(1);
      return s.run(() => a.add(b).add(c).sum().item());
    });
    expect(total).toBe(56);
  }));

test("what was tracked twice, or disposed by hand, is no trouble; a long loop holds no dead handles", () =>
  leaving(1, async () => {
    const result = await scopeAsync(async (s) => {
      let t = s.track(s.track(zeros(8)));
      for (let i = 0; i < 500; i++) {
        const next = s.run(() => t.add(1));
        t.dispose();
        t = next;
      }
      await sleep(1);
      return t;
    });
    expect(result.get(3)).toBe(500);
    return result;
  }).then((t) => t.dispose()));

test("a function that is not async is awaited all the same", async () => {
  const t = await leaving(1, () => scopeAsync((s) => s.run(() => arange(3).add(1))));
  expect(t.toArray()).toEqual([1, 2, 3]);
  t.dispose();
});

test("mistakes are said in words", async () => {
  expect(refused(() => scopeAsync(5 as never))).toMatchInlineSnapshot(`
    "(value) scopeAsync: expected a function, got the number 5.
      Pass one, such as scopeAsync(async (s) => s.run(() => a.add(b)))."
  `);
  expect(await reason(scopeAsync(async (s) => s.run(5 as never)))).toMatchInlineSnapshot(`
    "(value) run: expected a function, got the number 5.
      Pass one, such as s.run(() => a.add(b))."
  `);
  expect(await reason(scopeAsync(async (s) => s.run(async () => zeros(3))))).toMatchInlineSnapshot(`
    "(value) run: the function returned a promise, and what it makes after its first await belongs to no scope.
      run is synchronous: await between runs, const x = await load(); const y = s.run(() => x.add(1))."
  `);
  const inScope = async () => scope(async () => zeros(3));
  expect(await reason(inScope())).toMatchInlineSnapshot(`
    "(value) scope: the function returned a promise, and everything it made is disposed when it returns.
      scope is synchronous. With await between steps: scopeAsync(async (s) => { const t = s.run(() => …); await …; return t; })."
  `);
});

test("types: the result is what the function resolves to, a run's is what it returns", () => {
  const program = async () => {
    const t = await scopeAsync(async (s) => {
      expectTypeOf(s).toEqualTypeOf<AsyncScope>();
      const a = s.run(() => arange(3));
      expectTypeOf(a).toEqualTypeOf<Tensor<"f32">>();
      return { a, n: 1 };
    });
    expectTypeOf(t).toEqualTypeOf<{ a: Tensor<"f32">; n: number }>();
    expectTypeOf(await scopeAsync(() => "plain")).toEqualTypeOf<string>();
  };
  expect(program).toBeTypeOf("function");
});
