import { describe, expect, it } from "vitest";
import { f32x4, ModuleBuilder } from "./assembler.ts";
import { disassemble, watOf } from "./wat.ts";

describe("disassemble", () => {
  it("writes names, labels, immediates and nesting", () => {
    const module = new ModuleBuilder().importMemory("env", "memory", { min: 1, max: 16, shared: true });
    const log = module.importFunc("env", "log", ["i32"], []);
    const calls = module.global("i32", true, 3, { export: "calls", name: "calls" });
    module.data(8, Uint8Array.of(104, 105, 0));

    const f = module.func("scale", { dst: "i32", src: "i32", n: "i32", k: "f32" }, [], { export: true });
    const [dst, src, n, k] = f.params;
    const kv = f.local("v128", "k");
    const unnamed = f.local("i64");
    f.get(k).op("f32x4.splat").set(kv).i64(-5).set(unnamed).get(calls).call(log);
    f.block((done) => {
      f.get(n).op("i32.eqz").brIf(done);
      f.loop((next) => {
        f.get(dst)
          .get(src)
          .load("v128.load", 16, 4)
          .get(kv)
          .op("f32x4.mul")
          .v128(f32x4(1, -2, 0, 0.5));
        f.op("f32x4.add").store("v128.store");
        f.get(src).get(kv).storeLane("v128.store32_lane", 3, 4);
        f.get(kv).get(kv).shuffle([0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27]);
        f.lane("f32x4.extract_lane", 2).drop();
        f.get(n).i32(4).op("i32.sub").tee(n).brIf(next);
      });
    });

    const g = module.func("pick", ["i32"], ["f32", "f64"]);
    g.block(["f32", "f64"], (out) => {
      g.get(g.param(0)).if(
        ["f32"],
        () => g.f32(0.1),
        () => g.f32(Number.NEGATIVE_INFINITY),
      );
      g.f64(-0).i32(0).brTable([out], out);
    });
    expect(watOf(module)).toMatchInlineSnapshot(`
      "(module
        (import "env" "log" (func $log (param i32)))
        (import "env" "memory" (memory 1 16 shared))
        (global $calls (export "calls") (mut i32) (i32.const 3))
        (func $scale (export "scale") (param $dst i32) (param $src i32) (param $n i32) (param $k f32)
          (local $k_4 v128) (local i64)
          local.get $k
          f32x4.splat
          local.set $k_4
          i64.const -5
          local.set 5
          global.get $calls
          call $log
          block $block0
            local.get $n
            i32.eqz
            br_if $block0
            loop $loop1
              local.get $dst
              local.get $src
              v128.load offset=16 align=4
              local.get $k_4
              f32x4.mul
              v128.const i32x4 0x3f800000 0xc0000000 0x00000000 0x3f000000
              f32x4.add
              v128.store
              local.get $src
              local.get $k_4
              v128.store32_lane offset=4 3
              local.get $k_4
              local.get $k_4
              i8x16.shuffle 0 1 2 3 16 17 18 19 8 9 10 11 24 25 26 27
              f32x4.extract_lane 2
              drop
              local.get $n
              i32.const 4
              i32.sub
              local.tee $n
              br_if $loop1
            end
          end)
        (func $pick (param i32) (result f32 f64)
          block $block0 (result f32 f64)
            local.get 0
            if $if1 (result f32)
              f32.const 0.1
            else
              f32.const -inf
            end
            f64.const -0
            i32.const 0
            br_table $block0 $block0
          end)
        (data (i32.const 8) "\\68\\69\\00"))
      "
    `);
  });

  it("writes floats as the shortest text that reads back", () => {
    const module = new ModuleBuilder();
    const f = module.func("f", []);
    const values = [0.1, 16777217, 1e-45, 3.4028234663852886e38, 1 / 3, Number.NaN, -1.5];
    for (const x of values) f.f32(x).drop().f64(x).drop();
    const texts = Array.from(watOf(module).matchAll(/(f\d\d)\.const (.*)/g), ([, type, text]) => ({
      type,
      text,
    }));
    expect(texts.filter(({ type }) => type === "f32").map(({ text }) => text)).toMatchInlineSnapshot(`
      [
        "0.1",
        "16777216",
        "1e-45",
        "3.4028235e+38",
        "0.33333334",
        "nan",
        "-1.5",
      ]
    `);
    for (const [i, { type, text }] of texts.entries()) {
      const value = values[i >> 1];
      const read = text === "nan" ? Number.NaN : Number(text);
      expect(type === "f32" ? Math.fround(read) : read).toBe(type === "f32" ? Math.fround(value) : value);
    }
  });

  it("makes equal names distinct, and names fit for text", () => {
    const module = new ModuleBuilder();
    const f = module.func("my func", []);
    f.get(f.local("i32", "x")).get(f.local("i32", "x")).drop().drop();
    expect(watOf(module)).toMatchInlineSnapshot(`
      "(module
        (func $my_func
          (local $x i32) (local $x_1 i32)
          local.get $x
          local.get $x_1
          drop
          drop))
      "
    `);
  });

  it("does without names", () => {
    const module = new ModuleBuilder();
    const f = module.func("f", { x: "i32" }, ["i32"], { export: true });
    f.get(f.param("x"));
    expect(disassemble(module.toBytes())).toMatchInlineSnapshot(`
      "(module
        (func (export "f") (param i32) (result i32)
          local.get 0))
      "
    `);
  });

  it("says what it cannot read", () => {
    const module = new ModuleBuilder();
    module.func("f", []).op("nop");
    const bytes = module.toBytes();
    expect(() => disassemble(bytes.subarray(1))).toThrowErrorMatchingInlineSnapshot(
      `[TensorError: disassemble: the bytes do not begin as a WebAssembly module of version 1]`,
    );
    expect(() => disassemble(bytes.subarray(0, bytes.length - 1))).toThrowErrorMatchingInlineSnapshot(
      `[TensorError: disassemble: 5 bytes expected at 20, but the end is at 24]`,
    );
    const unknown = bytes.with(bytes.lastIndexOf(0x01), 0x06);
    expect(() => disassemble(unknown)).toThrowErrorMatchingInlineSnapshot(
      `[TensorError: disassemble: unknown code 0x6 at 1]`,
    );
  });
});
