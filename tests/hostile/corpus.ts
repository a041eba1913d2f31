/** Hostile calls that once did harm, each as the line that runs it again (hostile.ts); they stay. */
export const corpus: readonly string[] = [
  // The size that was checked, and another one that was used.
  "zeros:0 0=changes@4",
];
