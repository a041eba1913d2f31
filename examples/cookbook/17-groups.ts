/**
 * Sums by group
 *
 * What a table does with "group by": add up values at the index of their group.
 */
import { bincount, scatterAdd, tensor, zeros } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const shop = tensor([0, 2, 1, 0, 2, 2, 1, 0], { dtype: "i32" });
const sales = tensor([10, 5, 7, 20, 15, 10, 3, 30]);
const totals = scatterAdd(zeros([3]), shop, sales);
totals; // → [60, 10, 30]
totals.div(bincount(shop)); // → [20, 5, 10]
export const picture = plot.svg(totals, { kind: "scatter", title: "sales by shop", width: 420, height: 260 });
