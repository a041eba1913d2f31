/** Plane rotations of the rows of a matrix, collected and then applied many at a time, block of columns by block. */
import { empty } from "../../api.ts";
import { rotationsRoutine } from "../../routines/linalg.ts";
import { stridedOf, type Tensor } from "../../tensor.ts";
import { ROTATION_BYTES } from "../../wasm/routines/linalg/reduce.ts";
import { type Stack, step } from "./blocks.ts";

/** Rotations that wait at the most. */
const MOST = 8192;

export class Rotations {
  readonly #target: Stack;
  readonly #list: Tensor;
  readonly #most: number;
  /** The rotations that wait: two i32 and two f64 each. */
  readonly #waiting: DataView<ArrayBuffer>;
  #count = 0;

  /** Of the rows of a stack of one matrix. Lives in the scope it is made in. */
  constructor(target: Stack) {
    this.#target = target;
    this.#most = Math.min(MOST, 64 * target.frame.shape[1]);
    this.#list = empty([this.#most * ROTATION_BYTES], { dtype: "u8" });
    this.#waiting = new DataView(new ArrayBuffer(this.#most * ROTATION_BYTES));
  }

  /** (row i, row j) = (c·i + s·j, c·j - s·i). */
  add(i: number, j: number, c: number, s: number): void {
    const at = this.#count * ROTATION_BYTES;
    this.#waiting.setInt32(at, i, true);
    this.#waiting.setInt32(at + 4, j, true);
    this.#waiting.setFloat64(at + 8, c, true);
    this.#waiting.setFloat64(at + 16, s, true);
    if (++this.#count === this.#most) this.flush();
  }

  flush(): void {
    const list = stridedOf(this.#list);
    const bytes = this.#count * ROTATION_BYTES;
    list.storage.raw(0, bytes).set(new Uint8Array(this.#waiting.buffer, 0, bytes));
    step(rotationsRoutine, { count: this.#count }, [list], [this.#target]);
    this.#count = 0;
  }
}
