/** A graph as a picture: what a node is made of stands above it. */
import { list, svg } from "../dom.ts";
import type { GraphNode } from "./graph.ts";

const [WIDTH, HEIGHT, GAP, BETWEEN] = [132, 44, 18, 34];

/** Where each node stands: below everything it is made of, in the order that crosses least. */
function placed(nodes: readonly GraphNode[]): { x: number; y: number; width: number; height: number }[] {
  const depth: number[] = [];
  for (const { id, inputs } of nodes) depth[id] = Math.max(-1, ...inputs.map((i) => depth[i])) + 1;
  // An argument stands just above the first that uses it.
  for (const { id, inputs } of nodes.toReversed()) {
    const uses = nodes.filter((n) => n.inputs.includes(id));
    if (inputs.length === 0 && uses.length > 0) depth[id] = Math.min(...uses.map((n) => depth[n.id])) - 1;
  }
  const layers = Array.from({ length: Math.max(...depth) + 1 }, (_, d) =>
    nodes.flatMap(({ id }) => (depth[id] === d ? [id] : [])),
  );
  const column = new Map<number, number>();
  for (const layer of layers) {
    const wish = (id: number) => {
      const from = nodes[id].inputs.map((i) => column.get(i) ?? 0);
      return from.length === 0 ? id / nodes.length : from.reduce((a, b) => a + b, 0) / from.length;
    };
    layer.sort((a, b) => wish(a) - wish(b) || a - b);
    for (const [i, id] of layer.entries()) column.set(id, i - (layer.length - 1) / 2);
  }
  const widest = Math.max(...layers.map((layer) => layer.length));
  const middle = (widest * (WIDTH + GAP)) / 2;
  return nodes.map(({ id }) => ({
    x: middle + column.get(id)! * (WIDTH + GAP) - WIDTH / 2,
    y: depth[id] * (HEIGHT + BETWEEN) + 4,
    width: widest * (WIDTH + GAP),
    height: layers.length * (HEIGHT + BETWEEN) - BETWEEN + 8,
  }));
}

/** The picture, whose nodes can be pointed at and walked with the tab key. */
export function drawGraph(nodes: readonly GraphNode[], onPick: (node: GraphNode) => void): SVGElement {
  const places = placed(nodes);
  const { width, height } = places[0];
  const edges = nodes.flatMap(({ id, inputs }) =>
    inputs.map((from) => {
      const [a, b] = [places[from], places[id]];
      const [x1, y1, x2, y2] = [a.x + WIDTH / 2, a.y + HEIGHT, b.x + WIDTH / 2, b.y];
      const bend = Math.max(BETWEEN / 2, (y2 - y1) / 2);
      // One that passes others by goes around them.
      const aside = y2 - y1 > 2 * BETWEEN && Math.abs(x2 - x1) < WIDTH ? WIDTH : 0;
      return svg("path", {
        class: "edge",
        d: `M${x1} ${y1}C${x1 + aside} ${y1 + bend} ${x2 + aside} ${y2 - bend} ${x2} ${y2}`,
      });
    }),
  );
  const boxes = nodes.map((node) => {
    const { x, y } = places[node.id];
    const shape = `${node.dtype} ${list(node.shape)}`;
    const box = svg(
      "g",
      {
        class: `node ${node.kind}${node.isResult ? " result" : ""}`,
        transform: `translate(${x} ${y})`,
        tabindex: 0,
        role: "button",
        "aria-label": `${node.label}, ${shape}`,
      },
      svg("rect", { width: WIDTH, height: HEIGHT, rx: 8 }),
      svg("text", { x: WIDTH / 2, y: 18, class: "name" }, node.label),
      svg(
        "text",
        { x: WIDTH / 2, y: 34, class: "shape" },
        shape.length > 20 ? `${shape.slice(0, 19)}…` : shape,
      ),
    );
    const pick = () => {
      for (const other of boxes) other.classList.toggle("now", other === box);
      onPick(node);
    };
    box.addEventListener("click", pick);
    box.addEventListener("focus", pick);
    return box;
  });
  return svg(
    "svg",
    {
      class: "graph",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "group",
      "aria-label": "The recorded graph",
    },
    ...edges,
    ...boxes,
  );
}
