/**
 * Principal components
 *
 * Centre the data, take its singular values: the first direction explains most of it.
 */
import { linalg, random, tensor } from "../../src/index.ts";
import { plot } from "../../src/plot.ts";

const along = random
  .generator(4)
  .normal([400, 1])
  .mul(tensor([3, 1]));
const noise = random.generator(5).normal([400, 2]).mul(0.2);
const data = along.add(noise);
const centred = data.sub(data.mean({ axis: 0 }));
const { s, vh } = linalg.svd(centred, { fullMatrices: false });
const share = s.square().div(s.square().sum());
share.get(0) > 0.9; // → true
const scores = centred.matmul(vh.T);
export const picture = plot.svg(scores.slice(":", 1), {
  x: scores.slice(":", 0),
  kind: "scatter",
  title: "in its own axes",
});
