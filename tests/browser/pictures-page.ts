/** Runs in the page: pictures to a canvas and back, memory that is lent, plots that the page itself reads. */
import { arange, image, tensor } from "../../src/index.ts";
import { from, to } from "../../src/interop.ts";
import { plot } from "../../src/plot.ts";

export interface PicturesResult {
  readonly isolated: boolean;
  readonly canvas: readonly number[];
  readonly offscreen: readonly number[];
  readonly imageData: readonly number[];
  readonly small: readonly number[];
  readonly lent: number;
  readonly svg: readonly string[];
}

/** Opaque pixels: canvases keep colours times alpha, and forget what alpha takes away. */
const bytes = Uint8ClampedArray.from({ length: 4 * 6 }, (_, i) => (i % 4 === 3 ? 255 : (i * 37) % 256));

function main(): PicturesResult {
  const picture = image.fromRGBA(bytes, { width: 3 });
  const canvas = document.createElement("canvas");
  to.canvas(picture, canvas);
  const offscreen = new OffscreenCanvas(1, 1);
  to.canvas(picture.to("f32").div(255), offscreen as never);
  const t = arange(6).reshape(2, 3);
  to.ndarray(t).data[4] = 40;
  const pictures = [
    plot.svg(t),
    plot.svg(t.reshape(6), { title: "<a>" }),
    plot.svg(t, { kind: "histogram" }),
  ];
  return {
    isolated: globalThis.crossOriginIsolated,
    canvas: [...(from(canvas).toTypedArray() as Uint8Array)],
    offscreen: [...(from(offscreen).toTypedArray() as Uint8Array)],
    imageData: [...to.imageData(picture).data],
    small: [
      ...(image.resize(tensor([[0, 8, 16, 64]]), [1, 2], { method: "area" }).toTypedArray() as Float32Array),
    ],
    lent: t.get(1, 1),
    svg: pictures.map(
      (text) => new DOMParser().parseFromString(text, "image/svg+xml").documentElement.nodeName,
    ),
  };
}

const report = (result: unknown) => Object.assign(globalThis, { result });
try {
  report(main());
} catch (error) {
  report({ error: String((error as Error).stack) });
}
