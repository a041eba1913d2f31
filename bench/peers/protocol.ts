/** What parent and child say to each other, one line of JSON each. */
import type { Difference } from "./inputs.ts";
import type { About, Choice, Task } from "./types.ts";

export type Command =
  /** Load the library; with a task, also its first result, and how long both took. */
  | { readonly do: "start"; readonly adapter: string; readonly first?: Task }
  | { readonly do: "prepare"; readonly task: Task }
  /** Compare the result with a file of raw bytes. */
  | { readonly do: "check"; readonly file: string }
  | { readonly do: "write"; readonly file: string }
  /** Go on with the fastest of several forms, where there are several. */
  | { readonly do: "choose" }
  | { readonly do: "warm"; readonly turn: number; readonly longest: number }
  /** So many milliseconds, or one call, that do not count; then the calls that do. */
  | { readonly do: "turn"; readonly calls: number; readonly lead: number }
  | { readonly do: "peak"; readonly calls: number }
  | { readonly do: "drop" };

export interface Reply {
  readonly error?: string;
  readonly missing?: string;
  readonly about?: About;
  readonly difference?: Difference;
  readonly choice?: Choice;
  readonly calls?: number;
  readonly ms?: number;
  readonly bytes?: number;
}
