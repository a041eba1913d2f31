import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { TensorError } from "../errors.ts";
import { type AsyncScope, runScope, runScopeAsync, ScopeStack } from "./scope.ts";

class Thing {
  disposals = 0;
  dispose(): void {
    this.disposals++;
  }
}

/** A stack, a maker of tracked things, and `scope` that finds things in a result or an array of them. */
function setup() {
  const stack = new ScopeStack<Thing>();
  const make = (thing = new Thing()): Thing => {
    stack.track(thing);
    return thing;
  };
  const collect = (result: unknown): Thing[] =>
    (Array.isArray(result) ? result : [result]).filter((one) => one instanceof Thing);
  const scope = <R>(fn: () => R): R => runScope(stack, fn, collect);
  return { stack, make, scope };
}

const disposals = (...things: Thing[]): number[] => things.map((thing) => thing.disposals);

describe("a scope", () => {
  it("disposes what was made inside and returns what was returned", () => {
    const { stack, make, scope } = setup();
    const inside: Thing[] = [];
    const result = scope(() => {
      inside.push(make(), make());
      return make();
    });
    expect(disposals(...inside, result)).toEqual([1, 1, 0]);
    expect(stack.depth).toBe(0);
  });

  it("keeps everything that the collector finds", () => {
    const { make, scope } = setup();
    const [a, b] = scope(() => [make(), make()]);
    expect(disposals(a, b)).toEqual([0, 0]);
  });

  it("leaves alone what was made outside of it", () => {
    const { make, scope } = setup();
    const outside = make();
    const middle = scope(() => {
      const mine = make();
      scope(() => make());
      expect(disposals(outside, mine)).toEqual([0, 0]);
      return [mine, outside];
    });
    expect(disposals(outside, ...middle)).toEqual([0, 0, 0]);
  });

  it("hands what it keeps to the scope around it, which disposes it unless it keeps it too", () => {
    const { make, scope } = setup();
    let dropped = new Thing();
    const kept = scope(() => {
      dropped = scope(() => make());
      const passed = scope(() => scope(() => make()));
      expect(disposals(dropped, passed)).toEqual([0, 0]);
      return passed;
    });
    expect(disposals(dropped, kept)).toEqual([1, 0]);
  });

  it("disposes everything when the function throws, and the error passes", () => {
    const { stack, make, scope } = setup();
    const inside: Thing[] = [];
    const outer: Thing[] = [];
    expect(() =>
      scope(() => {
        outer.push(make());
        scope(() => {
          inside.push(make(), make());
          throw new Error("mine");
        });
      }),
    ).toThrow("mine");
    expect(disposals(...inside, ...outer)).toEqual([1, 1, 1]);
    expect(stack.depth).toBe(0);
  });

  it("an error caught inside an outer scope ends only the inner one", () => {
    const { make, scope } = setup();
    const result = scope(() => {
      const mine = make();
      expect(() =>
        scope(() => {
          throw new Error("inner");
        }),
      ).toThrow("inner");
      expect(mine.disposals).toBe(0);
      return mine;
    });
    expect(result.disposals).toBe(0);
  });

  it("closes the scopes that the function forgot, and keeps the result through them", () => {
    const { stack, make, scope } = setup();
    const forgotten: Thing[] = [];
    const result = scope(() => {
      stack.enter();
      forgotten.push(make());
      stack.enter();
      return make();
    });
    expect(stack.depth).toBe(0);
    expect(disposals(...forgotten, result)).toEqual([1, 0]);
  });

  it("disposes all even when a dispose throws, and then throws that", () => {
    const { stack, make, scope } = setup();
    const broken = new Thing();
    broken.dispose = () => {
      throw new Error("broken");
    };
    const after: Thing[] = [];
    expect(() =>
      scope(() => {
        stack.enter();
        make(broken);
        after.push(make());
      }),
    ).toThrow("broken");
    expect(disposals(...after)).toEqual([1]);
    expect(stack.depth).toBe(0);
    expect(() =>
      scope(() => {
        make(broken);
        throw new Error("mine");
      }),
    ).toThrow("mine");
  });

  it("disposes all when the collector throws", () => {
    const { stack, make } = setup();
    const inside: Thing[] = [];
    const collect = (): Thing[] => {
      throw new Error("collector");
    };
    expect(() => runScope(stack, () => inside.push(make()), collect)).toThrow("collector");
    expect(disposals(...inside)).toEqual([1]);
    expect(stack.depth).toBe(0);
  });

  it("does not hold on to things once none is open", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const { stack, make, scope } = setup();
    const seen = (() => [new WeakRef(make()), new WeakRef(scope(() => make()))])();
    for (let i = 0; i < 50 && seen.some((ref) => ref.deref() !== undefined); i++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      collect();
    }
    expect(seen.map((ref) => ref.deref())).toEqual([undefined, undefined]);
    expect(stack.depth).toBe(0);
  });

  it("cannot be left without being entered", () => {
    const { stack } = setup();
    expect(() => stack.leave(() => false)).toThrow(TensorError);
  });

  it("refuses promises, whose work would go on without its tensors", async () => {
    const { stack, make, scope } = setup();
    const inside: Thing[] = [];
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
    const thenable = { then: () => {} };
    const attempts = [
      async () => {
        inside.push(make());
        await null;
        throw new Error("must not become an unhandled rejection");
      },
      () => {
        inside.push(make());
        return thenable;
      },
    ];
    const messages = attempts.map((attempt) => {
      try {
        scope(attempt as () => unknown);
      } catch (error) {
        if (error instanceof TensorError && error.code === "value") return error.message;
      }
      return "no error";
    });
    expect(disposals(...inside)).toEqual([1, 1]);
    expect(stack.depth).toBe(0);
    expect(messages[0]).toBe(messages[1]);
    expect(messages[0]).toMatchInlineSnapshot(`
      "scope: the function returned a promise, and everything it made is disposed when it returns.
        scope is synchronous. With await between steps: scopeAsync(async (s) => { const t = s.run(() => …); await …; return t; })."
    `);
    await new Promise((resolve) => setTimeout(resolve, 10));
  });
});

describe("an asynchronous scope", () => {
  const collect = (result: unknown): Thing[] =>
    (Array.isArray(result) ? result : [result]).filter((one) => one instanceof Thing);

  it("disposes what its runs returned and the function did not, whatever scopes are open by then", async () => {
    const { stack, make } = setup();
    let a = new Thing();
    let release = () => {};
    const gate = new Promise<void>((open) => {
      release = open;
    });
    const work = runScopeAsync(
      stack,
      async (s) => {
        a = s.run(() => make());
        await gate;
        return s.run(() => make());
      },
      collect,
    );
    expect([stack.depth, a.disposals]).toEqual([0, 0]);
    runScope(stack, () => release(), collect);
    const b = await work;
    expect(disposals(a, b)).toEqual([1, 0]);
  });

  it("disposes all even when a dispose throws; the function's own error says more", async () => {
    const { stack, make } = setup();
    class Broken extends Thing {
      override dispose(): void {
        super.dispose();
        throw new Error("broken");
      }
    }
    const things = [new Broken(), new Thing()];
    const program = (outcome: () => void) =>
      runScopeAsync(
        stack,
        (s) => {
          s.run(() => things.map((thing) => make(thing)));
          outcome();
        },
        collect,
      );
    await expect(program(() => {})).rejects.toThrow("broken");
    expect(disposals(...things)).toEqual([1, 1]);
    const failing = program(() => {
      throw new Error("mine");
    });
    await expect(failing).rejects.toThrow("mine");
    expect(disposals(...things)).toEqual([2, 2]);
  });

  it("disposes all when the collector throws", async () => {
    const { stack, make } = setup();
    const thing = new Thing();
    const broken = (result: unknown): Thing[] => {
      if (result === "late") throw new Error("collector");
      return collect(result);
    };
    const program = async (s: AsyncScope<Thing>) => {
      s.run(() => make(thing));
      return "late";
    };
    const work = runScopeAsync(stack, program, broken);
    await expect(work).rejects.toThrow("collector");
    expect(thing.disposals).toBe(1);
  });

  it("forgets what was disposed by hand, so that a long loop holds no more than it uses", async () => {
    const { stack, make } = setup();
    class Known extends Thing {
      get isDisposed(): boolean {
        return this.disposals > 0;
      }
    }
    const all: Known[] = [];
    await runScopeAsync(
      stack,
      (s) => {
        for (let i = 0; i < 1000; i++) {
          all.at(-1)?.dispose();
          all.push(s.run(() => make(new Known())) as Known);
        }
      },
      collect,
    );
    // Those that the scope still knew at its end were disposed once more.
    expect(all.filter((thing) => thing.disposals > 1).length).toBeLessThan(100);
    expect(all.every((thing) => thing.disposals > 0)).toBe(true);
  });
});
