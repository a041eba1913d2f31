/** Numbers to places: ranges of data, round ticks, how numbers are written at an axis, and the colours of a heat map. */

export interface Range {
  readonly low: number;
  readonly high: number;
}

/** A range with room: one value becomes an interval around it. */
export function spread({ low, high }: Range): Range {
  if (low < high) return { low, high };
  const room = low === 0 ? 1 : Math.abs(low) / 10;
  return { low: low - room, high: high + room };
}

/** Round numbers (1, 2 or 5 times a power of ten) inside of the range, about `count` of them. */
export function ticksOf({ low, high }: Range, count: number): number[] {
  const step = stepOf((high - low) / Math.max(1, count));
  if (!(step > 0 && Number.isFinite(step))) return [low, high];
  const ticks: number[] = [];
  const first = Math.ceil(low / step - 1e-9);
  for (let k = first; k * step <= high + step * 1e-9 && ticks.length < 1000; k++) {
    // 3 · 0.1 is 0.30000000000000004: as many digits as the step has.
    ticks.push(Number((k * step).toPrecision(12)));
  }
  return ticks;
}

function stepOf(least: number): number {
  if (!(least > 0)) return 0;
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((f) => f * power >= least * (1 - 1e-9)) ?? 10;
  return factor * power;
}

/** A number in few letters. */
export function short(x: number, digits = 4): string {
  if (!Number.isFinite(x)) return x > 0 ? "inf" : x < 0 ? "-inf" : "NaN";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e6 || size < 1e-4) {
    return x
      .toExponential(digits - 1)
      .replace(/\.?0+e/, "e")
      .replace("e+", "e");
  }
  if (Number.isInteger(x)) return String(x);
  return String(Number(x.toPrecision(digits)));
}

/** Where a value lies in its range, 0 … 1. */
export const shareOf = (x: number, { low, high }: Range): number =>
  high - low === Number.POSITIVE_INFINITY
    ? (x / 2 - low / 2) / (high / 2 - low / 2)
    : (x - low) / (high - low);

/* Colours ---------------------------------------------------------------------------------------------------- */

export type RGB = readonly [number, number, number];

/** From dark blue over green to yellow, evenly brighter: nine points of matplotlib's viridis, which is free of rights. */
const ramp: readonly RGB[] = [
  [68, 1, 84],
  [71, 45, 123],
  [59, 82, 139],
  [44, 114, 142],
  [33, 145, 140],
  [40, 174, 128],
  [94, 201, 98],
  [173, 220, 48],
  [253, 231, 37],
];
/** What is not a number. */
export const MISSING: RGB = [150, 150, 150];

/** The colour of a share from 0 to 1. */
export function colourOf(share: number): RGB {
  if (Number.isNaN(share)) return MISSING;
  const x = Math.min(1, Math.max(0, share)) * (ramp.length - 1);
  const i = Math.min(ramp.length - 2, Math.floor(x));
  const [a, b] = [ramp[i], ramp[i + 1]];
  return [0, 1, 2].map((k) => Math.round(a[k] + (b[k] - a[k]) * (x - i))) as unknown as RGB;
}

/** Of several lines, one after the other. */
export const palette: readonly RGB[] = [
  [31, 119, 180],
  [214, 98, 24],
  [44, 140, 60],
  [176, 48, 96],
  [116, 88, 176],
  [120, 90, 40],
  [24, 150, 160],
  [90, 90, 90],
];

export const hexOf = (rgb: RGB): string => `#${rgb.map((c) => c.toString(16).padStart(2, "0")).join("")}`;
