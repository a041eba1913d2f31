/** What the routines around sorting share: steps of pointers, and loops that count down. */
import type { FuncBuilder, Local } from "../../assembler/assembler.ts";

/** p += by. */
export const bump = (f: FuncBuilder, p: Local, by: number): FuncBuilder =>
  f.get(p).i32(by).op("i32.add").set(p);

/** Runs `body` n times; n counts down to 0. */
export function times(f: FuncBuilder, n: Local, body: () => void): void {
  f.get(n).if(() => {
    f.loop((next) => {
      body();
      f.get(n).i32(1).op("i32.sub").tee(n).brIf(next);
    });
  });
}
