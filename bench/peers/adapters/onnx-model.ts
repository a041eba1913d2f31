/** Writes the few kinds of ONNX models that the benchmark needs: a graph of nodes as protocol buffer bytes. */
export const elementTypes = { f32: 1, i32: 6, i64: 7, f16: 10, f64: 11 } as const;
type ElementType = keyof typeof elementTypes;

export interface GraphNode {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly output: string;
  readonly attributes?: Readonly<Record<string, number | string | readonly number[]>>;
}
export interface GraphValue {
  readonly name: string;
  readonly dtype: ElementType;
  readonly shape: readonly number[];
}
export interface GraphConstant {
  readonly name: string;
  readonly dtype: "f32" | "i64";
  readonly shape: readonly number[];
  readonly values: readonly number[];
}
export interface Graph {
  readonly inputs: readonly GraphValue[];
  readonly output: GraphValue;
  readonly nodes: readonly GraphNode[];
  readonly constants?: readonly GraphConstant[];
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest >= 128n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return [...bytes, Number(rest)];
}
const integer = (field: number, value: number) => [...varint(field << 3), ...varint(value)];
const bytes = (field: number, content: ArrayLike<number>) => [
  ...varint((field << 3) | 2),
  ...varint(content.length),
  ...Array.from(content),
];
const text = (field: number, value: string) => bytes(field, new TextEncoder().encode(value));

function attribute(name: string, value: number | string | readonly number[]): number[] {
  if (typeof value === "string") return [...text(1, name), ...text(4, value), ...integer(20, 3)];
  if (typeof value === "number") return [...text(1, name), ...integer(3, value), ...integer(20, 2)];
  return [...text(1, name), ...value.flatMap((v) => integer(8, v)), ...integer(20, 7)];
}

function node(n: GraphNode): number[] {
  const attributes = Object.entries(n.attributes ?? {});
  return [
    ...n.inputs.flatMap((name) => text(1, name)),
    ...text(2, n.output),
    ...text(4, n.op),
    ...attributes.flatMap(([name, value]) => bytes(5, attribute(name, value))),
  ];
}

function value(v: GraphValue): number[] {
  const shape = v.shape.flatMap((d) => bytes(1, integer(1, d)));
  const type = [...integer(1, elementTypes[v.dtype]), ...bytes(2, shape)];
  return [...text(1, v.name), ...bytes(2, bytes(1, type))];
}

function constant(c: GraphConstant): number[] {
  const raw =
    c.dtype === "f32" ? Float32Array.from(c.values) : BigInt64Array.from(c.values, (v) => BigInt(v));
  return [
    ...c.shape.flatMap((d) => integer(1, d)),
    ...integer(2, elementTypes[c.dtype]),
    ...text(8, c.name),
    ...bytes(9, new Uint8Array(raw.buffer)),
  ];
}

/** Operator set 20, the first with Gelu. */
export function onnxModel(graph: Graph): Uint8Array {
  const body = [
    ...graph.nodes.flatMap((n) => bytes(1, node(n))),
    ...text(2, "bench"),
    ...(graph.constants ?? []).flatMap((c) => bytes(5, constant(c))),
    ...graph.inputs.flatMap((v) => bytes(11, value(v))),
    ...bytes(12, value(graph.output)),
  ];
  const opset = [...text(1, ""), ...integer(2, 20)];
  return Uint8Array.from([...integer(1, 9), ...bytes(7, body), ...bytes(8, opset)]);
}
