import { memo, StrictMode, useMemo, useReducer, useState } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { arange, Tensor, tensor } from "strided";

let renders = 0;
/** Rendered again only when it is given another tensor. */
const Total = memo(function Total({ of }) {
  renders++;
  return <b id="total">{of.sum().item()}</b>;
});

function App() {
  const [image, setImage] = useState(() => arange(6).reshape(2, 3));
  const [{ weights, step }, train] = useReducer(
    (state) => ({ weights: state.weights.mul(2), step: state.step + 1 }),
    { weights: tensor([1, 2]), step: 0 },
  );
  const rows = useMemo(() => image.sum({ axis: 1 }).toArray(), [image]);
  return (
    <main>
      <Total of={image} />
      <i id="rows">{rows.join()}</i>
      <u id="weights">
        {weights.toArray().join()} {step} {String(image instanceof Tensor)}
      </u>
      <button id="flip" type="button" onClick={() => setImage((t) => t.T.add(1))}>
        flip
      </button>
      <button id="train" type="button" onClick={() => train()}>
        train
      </button>
    </main>
  );
}

async function main() {
  const place = document.createElement("div");
  document.body.append(place);
  const root = createRoot(place);
  flushSync(() =>
    root.render(
      <StrictMode>
        <App />
      </StrictMode>,
    ),
  );
  const text = (id) => document.getElementById(id).textContent;
  const look = () => [text("total"), text("rows"), text("weights")];
  const before = look();
  flushSync(() => document.getElementById("train").click());
  const rendersBefore = renders;
  flushSync(() => document.getElementById("train").click());
  const isMemo = renders === rendersBefore;
  flushSync(() => document.getElementById("flip").click());
  return { before, after: look(), isMemo };
}

main().then(
  (result) => Object.assign(globalThis, { result }),
  (error) => Object.assign(globalThis, { result: { error: String(error?.stack ?? error) } }),
);
