import { afterEach, expect, test, vi } from "vitest";
import { TensorError } from "../../errors.ts";
import { ModuleBuilder } from "./assembler.ts";
import { compileModule } from "./module.ts";

afterEach(() => {
  vi.unstubAllGlobals();
});

test.each([
  `WebAssembly.Module(): Refused to compile or instantiate WebAssembly module because 'unsafe-eval' is not an allowed source of script in the following Content Security Policy directive: "script-src 'self'"`,
  "call to WebAssembly.Module() blocked by CSP",
  "Refused to create a WebAssembly object because 'unsafe-eval' or 'wasm-unsafe-eval' is not an allowed source of script",
])("a refusal by policy names the directive: %s", (words) => {
  const Module = class {
    constructor() {
      throw new WebAssembly.CompileError(words);
    }
  };
  vi.stubGlobal("WebAssembly", { ...WebAssembly, CompileError: WebAssembly.CompileError, Module });
  expect(() => compileModule(new ModuleBuilder().toBytes())).toThrow(TensorError);
  expect(() => compileModule(new ModuleBuilder().toBytes())).toThrow(/'wasm-unsafe-eval'/);
});

test("code that is wrong stays what it is, and code that is right compiles", () => {
  expect(() => compileModule(new Uint8Array([0, 1, 2]))).toThrow(WebAssembly.CompileError);
  expect(compileModule(new ModuleBuilder().toBytes())).toBeInstanceOf(WebAssembly.Module);
});
