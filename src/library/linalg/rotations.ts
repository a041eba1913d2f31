/** Plane rotations of the rows of a matrix, collected and then applied many at a time, block of columns by block. */
import { empty } from "../../api.ts";
import { engine } from "../../engine.ts";
import { stridedOf, type Tensor } from "../../tensor.ts";
import { emitRotations, ROTATION_BYTES } from "../../wasm/routines/linalg/reduce.ts";
import { addressOf, runRoutine, type Stack } from "./blocks.ts";

/** Rotations that wait at the most. */
const MOST = 8192;
/** Bytes of a row that stay in a cache while the rotations go by. */
const STRIP_BYTES = 1024;

export class Rotations {
  readonly #target: Stack;
  readonly #list: Tensor;
  readonly #most: number;
  #count = 0;

  /** Of the rows of a stack of one matrix. Lives in the scope it is made in. */
  constructor(target: Stack) {
    this.#target = target;
    this.#most = Math.min(MOST, 64 * target.frame.shape[1]);
    this.#list = empty([this.#most * ROTATION_BYTES], { dtype: "u8" });
  }

  /** (row i, row j) = (c·i + s·j, c·j - s·i). */
  add(i: number, j: number, c: number, s: number): void {
    const view = engine().heap.view;
    const at = addressOf(stridedOf(this.#list)) + this.#count * ROTATION_BYTES;
    view.setInt32(at, i, true);
    view.setInt32(at + 4, j, true);
    view.setFloat64(at + 8, c, true);
    view.setFloat64(at + 16, s, true);
    if (++this.#count === this.#most) this.flush();
  }

  flush(): void {
    const { frame, dtype } = this.#target;
    const [, , columns] = frame.shape;
    const strip = STRIP_BYTES / frame.itemBytes;
    const tasks: number[][] = [];
    for (let from = 0; from < columns; from += strip) {
      const at = addressOf(this.#target) + from * frame.strides[2];
      tasks.push([
        at,
        frame.strides[1],
        Math.min(strip, columns - from),
        addressOf(stridedOf(this.#list)),
        this.#count,
      ]);
    }
    runRoutine("rotations", emitRotations, dtype, tasks, this.#count * columns, [this.#target]);
    this.#count = 0;
  }
}
