/**
 * Read a table
 *
 * Columns of a CSV file as one tensor, with the blank as NaN and means that leave it out.
 */
import { nanmean } from "../../src/index.ts";
import { csv } from "../../src/io.ts";
import { plot } from "../../src/plot.ts";

const text = "day,rain,wind\n1,3.5,10\n2,,12\n3,0.5,8\n4,9,30\n5,1,10\n";
const { data, names } = await csv.load(new TextEncoder().encode(text), { dtype: "f32" });
names?.join(" "); // → day rain wind
nanmean(data, { axis: 0 }); // → [3, 3.5, 14]
export const picture = plot.svg(data.slice(":", 2), {
  x: data.slice(":", 0),
  title: "wind",
  width: 420,
  height: 260,
});
