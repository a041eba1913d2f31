/**
 * The disassembler: the bytes of a module → WebAssembly text, linear and indented, through the same table that
 * encoded them. It reads the sections our assembler writes; names come from the name section when there is one.
 */
import { fail } from "../../errors.ts";
import { ByteReader, kinds, nameSections, sections, typeCodes } from "./encode.ts";
import { type Immediate, type Instruction, instructionOfCode, type ValType } from "./opcodes.ts";

interface Signature {
  params: ValType[];
  results: ValType[];
}

interface Module {
  types: Signature[];
  imports: { from: string; name: string; what: { type: number } | { memory: string } }[];
  /** Type index by function index, imports first. */
  funcs: number[];
  globals: string[];
  exports: { name: string; kind: number; index: number }[];
  bodies: Uint8Array[];
  data: string[];
  funcNames: Map<number, string>;
  localNames: Map<number, Map<number, string>>;
  globalNames: Map<number, string>;
}

/** How things are written inside a body, by index. */
interface Scope {
  readonly types: readonly Signature[];
  readonly funcs: readonly string[];
  readonly globals: readonly string[];
  readonly locals: readonly string[];
}

const typeNames = new Map(Object.entries(typeCodes).map(([name, code]) => [code, name as ValType]));

/** The text of a module that is being made, read back from its bytes. No method of it: what runs has no use for texts. */
export const watOf = (module: { toBytes(options: { readonly names: true }): Uint8Array }): string =>
  disassemble(module.toBytes({ names: true }));

/** The text of a module. Types are written where they are used; block labels are numbered within a function. */
export function disassemble(bytes: Uint8Array): string {
  const module = readModule(bytes);
  const lines = ["(module"];
  const funcs = uniqueNames(module.funcNames, module.funcs.length);
  const globals = uniqueNames(module.globalNames, module.globals.length);
  let imported = 0;
  for (const { from, name, what } of module.imports) {
    const item =
      "memory" in what
        ? `(memory ${what.memory})`
        : `(func${label(funcs[imported++])}${signature(module.types[what.type])})`;
    lines.push(`  (import ${quote(from)} ${quote(name)} ${item})`);
  }
  for (const [i, global] of module.globals.entries()) {
    lines.push(`  (global${label(globals[i])}${exportsOf(module, kinds.global, i)} ${global})`);
  }
  for (const [i, body] of module.bodies.entries()) {
    for (const line of funcLines(module, funcs, globals, imported + i, body)) lines.push(line);
  }
  for (const data of module.data) lines.push(`  ${data}`);
  return `${lines.join("\n")})\n`;
}

function funcLines(
  module: Module,
  funcs: readonly string[],
  globals: readonly string[],
  index: number,
  body: Uint8Array,
): string[] {
  const { params, results } = module.types[module.funcs[index]];
  const reader = new ByteReader(body);
  const localTypes = [...params];
  for (let runs = reader.u32(); runs > 0; runs--) {
    const count = reader.u32();
    const type = valType(reader);
    for (let i = 0; i < count; i++) localTypes.push(type);
  }
  const locals = uniqueNames(module.localNames.get(index) ?? new Map(), localTypes.length);
  const declare = (what: string, from: number, to: number) =>
    localTypes.slice(from, to).map((type, i) => ` (${what}${label(locals[from + i])} ${type})`);

  const exported = exportsOf(module, kinds.func, index);
  const head = declare("param", 0, params.length).join("") + list("result", results);
  const lines = [`  (func${label(funcs[index])}${exported}${head}`];
  const declared = declare("local", params.length, localTypes.length).join("");
  if (declared) lines.push(`   ${declared}`);
  const scope = { types: module.types, funcs, globals, locals };
  for (const line of codeLines(reader, scope)) lines.push(`    ${line}`);
  lines[lines.length - 1] += ")";
  return lines;
}

/** The instructions up to the `end` of the body, which is left out: the closing parenthesis stands for it. */
function codeLines(reader: ByteReader, scope: Scope): string[] {
  const lines: string[] = [];
  const labels: string[] = [];
  let blocks = 0;
  const branch = () => {
    const depth = reader.u32();
    return labels[labels.length - 1 - depth] ?? String(depth);
  };
  const immediates: Record<Immediate, (instr: Instruction) => string> = {
    ...plainImmediates(reader),
    local: () => scope.locals[reader.u32()],
    global: () => scope.globals[reader.u32()],
    func: () => scope.funcs[reader.u32()],
    label: branch,
    labels: () => [...reader.vector(branch), branch()].join(" "),
    block: ({ name }) => {
      labels.push(`$${name}${blocks++}`);
      return labels.at(-1) + blockType(reader, scope.types);
    },
  };
  for (;;) {
    const instr = readInstruction(reader);
    if (instr.name === "end" && labels.length === 0) return lines;
    if (instr.name === "end") labels.pop();
    const operand = instr.imm === null ? "" : immediates[instr.imm](instr);
    const depth = labels.length - (instr.imm === "block" || instr.name === "else" ? 1 : 0);
    lines.push(`${"  ".repeat(depth)}${instr.name}${operand && ` ${operand}`}`);
  }
}

/** Immediates that mean the same everywhere. */
function plainImmediates(reader: ByteReader) {
  const lane = () => String(reader.u8());
  const memarg = ({ bytes }: Instruction) => {
    const align = 2 ** reader.u32();
    const offset = reader.u32();
    return [offset > 0 ? `offset=${offset}` : "", align !== bytes ? `align=${align}` : ""]
      .filter(Boolean)
      .join(" ");
  };
  const skip = (count: number) => () => {
    reader.raw(count);
    return "";
  };
  return {
    zero: skip(1),
    zero2: skip(2),
    i32: () => String(reader.s32()),
    i64: () => String(reader.s64()),
    f32: () => float(reader.f32(), true),
    f64: () => float(reader.f64(), false),
    v128: () => `i32x4 ${hexWords(reader.raw(16))}`,
    shuffle: () => reader.raw(16).join(" "),
    lane2: lane,
    lane4: lane,
    lane8: lane,
    lane16: lane,
    memarg,
    memlane: (instr: Instruction) => [memarg(instr), lane()].filter(Boolean).join(" "),
  };
}

function readInstruction(reader: ByteReader): Instruction {
  const at = reader.at;
  const first = reader.u8();
  const code = first < 0xfc ? first : (first << 12) | reader.u32();
  return (
    instructionOfCode(code) ?? fail("value", "disassemble", `unknown code 0x${code.toString(16)} at ${at}`)
  );
}

function readModule(bytes: Uint8Array): Module {
  const module: Module = {
    types: [],
    imports: [],
    funcs: [],
    globals: [],
    exports: [],
    bodies: [],
    data: [],
    funcNames: new Map(),
    localNames: new Map(),
    globalNames: new Map(),
  };
  const reader = new ByteReader(bytes);
  if (reader.raw(8).join() !== "0,97,115,109,1,0,0,0") {
    fail("value", "disassemble", "the bytes do not begin as a WebAssembly module of version 1");
  }
  while (!reader.done) {
    const id = reader.u8();
    const section = new ByteReader(reader.raw(reader.u32()));
    const read = sectionReaders[id] ?? fail("value", "disassemble", `unknown section ${id}`);
    read(section, module);
  }
  return module;
}

const sectionReaders: Readonly<Record<number, (r: ByteReader, module: Module) => void>> = {
  [sections.custom]: (r, module) => {
    if (r.name() === "name") readNames(r, module);
  },
  [sections.type]: (r, module) => {
    module.types = r.vector(() => {
      r.u8(); // 0x60, a function type
      return { params: r.vector(() => valType(r)), results: r.vector(() => valType(r)) };
    });
  },
  [sections.import]: (r, module) => {
    module.imports = r.vector(() => {
      const from = r.name();
      const name = r.name();
      if (r.u8() !== kinds.func) return { from, name, what: { memory: limits(r) } };
      const type = r.u32();
      module.funcs.push(type);
      return { from, name, what: { type } };
    });
  },
  [sections.function]: (r, module) => {
    module.funcs.push(...r.vector(() => r.u32()));
  },
  [sections.global]: (r, module) => {
    module.globals = r.vector(() => {
      const type = valType(r);
      return `${r.u8() === 1 ? `(mut ${type})` : type} ${constant(r)}`;
    });
  },
  [sections.export]: (r, module) => {
    module.exports = r.vector(() => ({ name: r.name(), kind: r.u8(), index: r.u32() }));
  },
  [sections.code]: (r, module) => {
    module.bodies = r.vector(() => r.raw(r.u32()));
  },
  [sections.data]: (r, module) => {
    module.data = r.vector(() => {
      r.u32(); // active, memory 0
      const offset = constant(r);
      const escaped = Array.from(r.raw(r.u32()), (byte) => `\\${byte.toString(16).padStart(2, "0")}`);
      return `(data ${offset} "${escaped.join("")}")`;
    });
  },
};

function readNames(r: ByteReader, module: Module): void {
  const nameMap = () => new Map(r.vector(() => [r.u32(), r.name()] as const));
  while (!r.done) {
    const id = r.u8();
    const end = r.u32() + r.at;
    if (id === nameSections.functions) module.funcNames = nameMap();
    if (id === nameSections.locals)
      module.localNames = new Map(r.vector(() => [r.u32(), nameMap()] as const));
    if (id === nameSections.globals) module.globalNames = nameMap();
    r.at = end;
  }
}

/** `(i32.const 5)`: an initial value, up to its `end`. */
function constant(r: ByteReader): string {
  return `(${codeLines(r, { types: [], funcs: [], globals: [], locals: [] }).join(" ")})`;
}

function limits(r: ByteReader): string {
  const flags = r.u8();
  const sizes = flags & 1 ? [r.u32(), r.u32()] : [r.u32()];
  return `${sizes.join(" ")}${flags & 2 ? " shared" : ""}`;
}

function blockType(r: ByteReader, types: readonly Signature[]): string {
  const value = r.s32(); // one byte of a type is a negative number, an index is not
  if (value >= 0) return signature(types[value]);
  const type = typeNames.get(value & 0x7f);
  return type === undefined ? "" : ` (result ${type})`;
}

function valType(r: ByteReader): ValType {
  const code = r.u8();
  return (
    typeNames.get(code) ?? fail("value", "disassemble", `unknown type 0x${code.toString(16)} at ${r.at - 1}`)
  );
}

// Text

function signature({ params, results }: Signature): string {
  return list("param", params) + list("result", results);
}

function list(what: string, types: readonly ValType[]): string {
  return types.length > 0 ? ` (${what} ${types.join(" ")})` : "";
}

function exportsOf(module: Module, kind: number, index: number): string {
  const own = module.exports.filter((item) => item.kind === kind && item.index === index);
  return own.map(({ name }) => ` (export ${quote(name)})`).join("");
}

/** How each of `count` things is written: `$name`, made distinct, or its index. */
function uniqueNames(names: ReadonlyMap<number, string>, count: number): string[] {
  const taken = new Set<string>();
  return Array.from({ length: count }, (_, index) => {
    const name = names.get(index);
    if (name === undefined) return String(index);
    const plain = `$${name.replaceAll(/[^\w!#$%&'*+\-./:<=>?@\\^`|~]/g, "_")}`;
    const unique = taken.has(plain) ? `${plain}_${index}` : plain;
    taken.add(unique);
    return unique;
  });
}

/** ` $name` in a declaration; what has no name is declared without one. */
function label(name: string): string {
  return name.startsWith("$") ? ` ${name}` : "";
}

function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/g, "\\$&")}"`;
}

/** The shortest decimal that reads back as the same number. */
function float(value: number, single: boolean): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Object.is(value, -0)) return "-0";
  for (let digits = 1; single && digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(value);
}

function hexWords(bytes: Uint8Array): string {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return [0, 4, 8, 12].map((at) => `0x${view.getUint32(at, true).toString(16).padStart(8, "0")}`).join(" ");
}
