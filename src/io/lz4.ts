/** LZ4 frames, unpacked: no more than the room there is for them, and nothing from before its beginning. */

const MAGIC = 0x184d2204;
/** One byte of a block makes 255 at the most. */
export const MOST_LZ4_RATIO = 255;

/** Fills `out` with what a frame unpacks to, or with as much of it as fits; `bad` throws what is wrong. */
export function unpackLz4(packed: Uint8Array, out: Uint8Array, bad: (fact: string) => never): void {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  const need = (at: number, n: number) => {
    if (at + n > packed.length) bad("its LZ4 frame ends too early.");
  };
  need(0, 7);
  if (view.getUint32(0, true) !== MAGIC) bad("it does not begin as an LZ4 frame.");
  const flags = packed[4];
  if (flags >> 6 !== 1) bad(`version ${flags >> 6} of LZ4 frames is not known.`);
  if (flags & 1) bad("its LZ4 frame needs a dictionary.");
  let at = 6 + (flags & 8 ? 8 : 0) + 1;
  const checked = flags & 16 ? 4 : 0;
  let done = 0;
  while (done < out.length) {
    need(at, 4);
    const word = view.getUint32(at, true);
    at += 4;
    if (word === 0) bad(`it unpacks to ${done} bytes, ${out.length} are expected.`);
    const length = word & 0x7fffffff;
    need(at, length);
    const block = packed.subarray(at, at + length);
    if (word >>> 31 === 1) {
      const some = block.subarray(0, out.length - done);
      out.set(some, done);
      done += some.length;
    } else done = unpackBlock(block, out, done, bad);
    at += length + checked;
  }
}

/** Literals and copies of what came before, in turns. */
export function unpackBlock(
  b: Uint8Array,
  out: Uint8Array,
  start: number,
  bad: (fact: string) => never,
): number {
  let [at, done] = [0, start];
  const long = (first: number): number => {
    let n = first;
    if (first !== 15) return n;
    for (let more = 255; more === 255; n += more) {
      if (at >= b.length) bad("an LZ4 block ends inside of a length.");
      more = b[at++];
    }
    return n;
  };
  while (at < b.length && done < out.length) {
    const token = b[at++];
    const literals = long(token >> 4);
    if (at + literals > b.length) bad("an LZ4 block ends inside of its literals.");
    const some = Math.min(literals, out.length - done);
    for (let i = 0; i < some; i++) out[done + i] = b[at + i];
    done += some;
    at += literals;
    if (at >= b.length) break;
    if (at + 2 > b.length) bad("an LZ4 block ends inside of a distance.");
    const distance = b[at] | (b[at + 1] << 8);
    at += 2;
    const length = Math.min(4 + long(token & 15), out.length - done);
    if (distance === 0 || distance > done)
      bad(`an LZ4 block copies from ${distance} bytes before byte ${done}.`);
    for (let i = 0; i < length; i++) out[done + i] = out[done + i - distance];
    done += length;
  }
  return done;
}
