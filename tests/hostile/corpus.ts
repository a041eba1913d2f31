/** Hostile calls that once did harm, each as the line that runs it again (hostile.ts); they stay. */
export const corpus: readonly string[] = [
  // A size that was checked, and another one that was used: written or read beyond the block.
  "zeros:0 0=changes-back@4",
  "full:0 0=changes-back@4",
  "empty:0 0=changes-back@5",
  "random.uniform:0 0=changes@6",
  "generator.normal:0 1=changes@6",
  "zeros:0 0=liar",
  "zerosLike:0 1.shape=liar",
  "zeros:0 0=species",
  // A typed array that says it is shorter.
  "tensor:2 0=length-less",
  // Operands let go by a getter: read and written after that.
  "sum:1 1.axis=get-disposes",
  "logsumexp:0 1=get-disposes",
  "putAlongAxis:0 3=get-disposes",
  "assignAt:0 1=get-disposes",
  "rot90:0 1=get-disposes",
  "split:0 2=get-disposes",
  // An output that was another one at each read.
  "abs:1 1=changes@2",
  "abs:1 1=changes@4",
  // Tensors that were none, or had been written on.
  "new_Tensor:0 0=proxy",
  "abs:1 1.out=made-of-look-alike",
  "abs:1 1.out=look-alike-class",
  "abs:1 1.out=lying-instanceof",
  "abs:1 1.out=field-storage",
  "abs:1 1.out=read-only-tampered",
  "abs:0 0=field-frame",
  "abs:0 0=field-dtype",
  "abs:0 0=proxy",
  "abs:0 0=derived-object",
  ".fill:0 self=field-frame",
  ".dispose:0 self=field-storage",
  "broadcastArrays:0 0[1]=field-frame",
  // Errors of the host.
  "abs:0 1=revoked-object",
  "sum:1 1.axis=no-methods",
  "histogram:0 1.range[0]=deep-list",
  ".slice:0 1=list-of-itself",
  "tile:0 1=longer@5",
  ".gather:0 1=shorter@1",
  "rawMap:0 0=fn-class",
  "iteration.row:0 2.from=-2^53",
  ".shape:0 self=null",
  "linalg.tensordot:0 2.axes[0]=revoked-object",
];

/** Those that never ended. */
export const endlessCorpus: readonly string[] = [
  "repeat:0 1[0]=2^31",
  "repeat:0 1[0]=2^32",
  ".slidingWindow:0 1=liar",
  "oneHot:0 0[0]=list-of-itself-twice",
];
