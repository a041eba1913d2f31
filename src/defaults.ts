/** What creation makes where no dtype is given, as a type. The run time's side is `configure` in engine.ts. */
import type { FloatDType } from "./dtype.ts";

/**
 * The dtype of numbers where none is given is f32. To change it, tell the run time, first thing in the program:
 * `configure({ dtype: "f64" })`; and TypeScript, which cannot see that:
 *
 *     declare module "strided" {
 *       interface Defaults {
 *         dtype: "f64";
 *       }
 *     }
 */
// biome-ignore lint/suspicious/noEmptyInterface: users add to it
export interface Defaults {}

/** The dtype of numbers where none is given: f32, or what `Defaults` says. */
export type DefaultDType = Defaults extends { readonly dtype: infer D extends FloatDType } ? D : "f32";
