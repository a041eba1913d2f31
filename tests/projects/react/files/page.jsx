import { memo, StrictMode, useEffect, useMemo, useReducer, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { arange, kernel, scope, Tensor, tensor } from "strided";

let renders = 0;
/** Rendered again only when it is given another tensor. */
const Total = memo(function Total({ of }) {
  renders++;
  return <b id="total">{of.sum().item()}</b>;
});

const halve = kernel((x) => x / 2);

function App() {
  const [image, setImage] = useState(() => arange(6).reshape(2, 3));
  const [{ weights, step }, train] = useReducer(
    (state) => ({ weights: state.weights.mul(2), step: state.step + 1 }),
    { weights: tensor([1, 2]), step: 0 },
  );
  const rows = useMemo(() => image.sum({ axis: 1 }).toArray(), [image]);
  // As docs/memory.md has it: made and disposed by one effect, which StrictMode runs twice.
  const [largest, setLargest] = useState(0);
  useEffect(() => {
    const t = image.mul(10);
    setLargest(t.max().item());
    return () => t.dispose();
  }, [image]);
  // Written into, and counted.
  const level = useRef(null);
  level.current ??= tensor([1]);
  const [turn, setTurn] = useState(0);
  const shown = scope(() => level.current.sum().item());
  return (
    <main>
      <Total of={image} />
      <i id="rows">{rows.join()}</i>
      <u id="weights">
        {weights.toArray().join()} {step} {String(image instanceof Tensor)}
      </u>
      <s id="owned">
        {largest} {shown} {turn}
      </s>
      <button
        id="write"
        type="button"
        onClick={() => {
          halve.into(level.current, level.current);
          setTurn((n) => n + 1);
        }}
      >
        write
      </button>
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
  const look = () => [text("total"), text("rows"), text("weights"), text("owned")];
  await new Promise((done) => setTimeout(done, 50));
  const before = look();
  flushSync(() => document.getElementById("train").click());
  const rendersBefore = renders;
  flushSync(() => document.getElementById("train").click());
  const isMemo = renders === rendersBefore;
  flushSync(() => document.getElementById("flip").click());
  flushSync(() => document.getElementById("write").click());
  await new Promise((done) => setTimeout(done, 50)); // effects have run
  return { before, after: look(), isMemo };
}

main().then(
  (result) => Object.assign(globalThis, { result }),
  (error) => Object.assign(globalThis, { result: { error: String(error?.stack ?? error) } }),
);
