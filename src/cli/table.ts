/** Columns of text, and numbers of bytes as people say them. */

/** Rows under their titles, as wide as the widest cell; the columns in `right` end together. */
export function columns(
  titles: readonly string[] | null,
  rows: readonly (readonly string[])[],
  right: readonly number[],
): string[] {
  const all = titles === null ? rows : [titles, ...rows];
  const widths: number[] = [];
  for (const row of all)
    for (const [j, cell] of row.entries()) widths[j] = Math.max(widths[j] ?? 0, [...cell].length);
  return all.map((row) =>
    row
      .map((cell, j) => {
        const room = " ".repeat(widths[j] - [...cell].length);
        return right.includes(j) ? room + cell : cell + room;
      })
      .join("  ")
      .trimEnd(),
  );
}

const units = ["bytes", "kB", "MB", "GB", "TB"];

/** 1234567 is 1.23 MB. */
export function bytesText(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return unit === 0 ? `${value} ${units[0]}` : `${value.toPrecision(3)} ${units[unit]}`;
}
