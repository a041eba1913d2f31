/**
 * Random functions with loops, as source text: all kinds of loops, nested, left early, with bounds that are literals or data.
 * Each loop has a counter that ends it, so that all of them end soon.
 */
import fc from "fast-check";
import { expressions, type Grammar } from "./random.ts";

/** Statements that use what is around them: variables a, b, c, and counters i0, i1. */
function statements(g: Grammar): fc.Arbitrary<string> {
  const e = expressions(g, ["x", "y", "k", "a", "b", "c", "i0", "i1"], 2);
  const bound = fc.oneof(
    fc.constantFrom(
      "3",
      "5",
      "7",
      "7",
      "3",
      "68",
      "Math.min(9, Math.abs(x))",
      "Math.min(6, k)",
      "(y & 7)",
      "Math.min(5, a)",
    ),
  );
  const variable = fc.constantFrom("a", "b", "c");
  const block = (depth: number): fc.Arbitrary<string> =>
    fc.array(statement(depth), { minLength: 1, maxLength: 2 }).map((all) => all.join(" "));
  const statement = (depth: number): fc.Arbitrary<string> => {
    const simple = [
      fc.tuple(variable, e).map(([v, a]) => `${v} = ${a};`),
      fc
        .tuple(variable, fc.constantFrom("+=", "-=", "*=", "&&=", "|="), e)
        .map(([v, op, a]) => `${v} ${op} ${a};`),
      fc.constantFrom("a++;", "b--;", "c = !c;"),
    ];
    if (depth === 0) return fc.oneof(...simple);
    const inner = block(depth - 1);
    const i = `i${depth - 1}`;
    const leave = fc.constantFrom("break;", "continue;", "break outer;", "continue outer;", "return a;");
    const body = fc
      .tuple(inner, fc.option(fc.tuple(e, leave)), fc.option(inner))
      .map(([first, jump, last]) => `${first} ${jump ? `if (${jump[0]}) ${jump[1]}` : ""} ${last ?? ""}`);
    return fc.oneof(
      ...simple,
      fc.tuple(e, inner).map(([c, s]) => `if (${c}) { ${s} }`),
      fc.tuple(e, inner, inner).map(([c, s, t]) => `if (${c}) { ${s} } else { ${t} }`),
      fc.tuple(bound, body).map(([n, s]) => `for (${i} = 0; ${i} < ${n}; ${i}++) { ${s} }`),
      fc.tuple(bound, e, body).map(([n, c, s]) => `${i} = 0; while (${i}++ < ${n} && ${c}) { ${s} }`),
      fc
        .tuple(bound, e, body)
        .map(([n, c, s]) => `${i} = 0; do { ${i} += 1; ${s} } while (${c} && ${i} < ${n});`),
      fc
        .tuple(bound, body)
        .map(([n, s]) => `{ let t = a; for (let j = 0; j < ${n} && j < 9; ++j) { t = t + j; ${s} } b = t; }`),
    );
  };
  // Counters may be used before and after the loops: they are variables of the function.
  return fc
    .tuple(block(2), e)
    .map(
      ([all, last]) =>
        `let a = 0, b = x, c = y > 0, i0 = 0, i1 = 1; outer: do { ${all} } while (false); return ${last};`,
    );
}

/** Function bodies, with braces. */
export const loopBodies = (g: Grammar): fc.Arbitrary<string> => statements(g).map((s) => `{ ${s} }`);
