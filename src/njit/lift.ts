/**
 * What every turn of a loop would compute alike is computed once, before it. Expressions do nothing but give a value, so
 * this may happen even if the loop makes no turn; what somebody reads after the loop stays where it is.
 */
import { type Code, isLoopBlock, type LoopBlock, type Step } from "./ir.ts";
import { livenessOf } from "./live.ts";
import { writesIn } from "./nest.ts";
import { verifyCode } from "./verify.ts";

export function liftInvariants(code: Code): Code {
  const live = livenessOf(code, isLoopBlock);

  const list = (steps: readonly Step[]): Step[] =>
    steps.flatMap((step): Step[] => {
      if (isLoopBlock(step)) return lifted(step);
      switch (step.op) {
        case "if":
          return [{ ...step, yes: list(step.yes), no: list(step.no) }];
        case "block":
        case "fork":
          return [{ ...step, body: list(step.body) }];
        default:
          return [step];
      }
    });

  const lifted = (block: LoopBlock): Step[] => {
    const [loop] = block.body;
    const body = list(loop.body);
    const writes = new Map(writesIn(body));
    const { before, after } = live.get(block)!;
    const up: Step[] = [];
    const rest = body.filter((s) => {
      if (s.op !== "set" || writes.get(s.local) !== 1) return true;
      if (before.has(s.local) || after.has(s.local) || s.value.locals.some((l) => writes.has(l))) return true;
      writes.delete(s.local);
      up.push(s);
      return false;
    });
    return [...up, { op: "block", body: [{ ...loop, body: rest }] }];
  };

  return verifyCode({ ...code, body: list(code.body) }, "lifting");
}
