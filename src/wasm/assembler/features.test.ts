import { setFlagsFromString } from "node:v8";
import { expect, it, vi } from "vitest";

it("asks the host once, at the first call, and again when told to", async () => {
  const validate = vi.spyOn(WebAssembly, "validate");
  const { detectFeatures } = await import("./features.ts");
  expect(validate).not.toHaveBeenCalled();
  const features = detectFeatures();
  expect(features).toMatchObject({ simd: true, threads: true, bulkMemory: true });
  expect(detectFeatures()).toBe(features);
  expect(validate).toHaveBeenCalledTimes(4);

  setFlagsFromString("--experimental-wasm-relaxed-simd"); // behind a flag in Node 20, on by itself later
  expect(detectFeatures().relaxedSimd).toBe(features.relaxedSimd);
  expect(detectFeatures({ fresh: true })).toEqual({ ...features, relaxedSimd: true });
});

it("says no where the host does", async () => {
  const { detectFeatures } = await import("./features.ts");
  vi.spyOn(WebAssembly, "validate").mockReturnValue(false);
  expect(detectFeatures({ fresh: true })).toEqual({
    simd: false,
    relaxedSimd: false,
    threads: false,
    bulkMemory: false,
  });
  vi.restoreAllMocks();
});
