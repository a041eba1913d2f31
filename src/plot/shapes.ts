/** A drawing as data: what SVG writes down and what pixels are made of. Places are pixels, from the upper left corner. */
import type { RGB } from "./scale.ts";

export type Point = readonly [x: number, y: number];

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export type Shape =
  | {
      readonly kind: "text";
      readonly x: number;
      /** Where the letters stand. */
      readonly y: number;
      readonly text: string;
      readonly anchor: "start" | "middle" | "end";
      readonly fill: string;
      /** Default 12. */
      readonly size?: number | undefined;
      readonly weight?: number | undefined;
      /** Degrees, around its place. */
      readonly turn?: number | undefined;
    }
  | {
      readonly kind: "line";
      readonly x1: number;
      readonly y1: number;
      readonly x2: number;
      readonly y2: number;
      readonly stroke: string;
    }
  | (Box & { readonly kind: "rect"; readonly fill: string })
  | {
      readonly kind: "path";
      /** Each is drawn without lifting the pen; one point is a dot. */
      readonly runs: readonly (readonly Point[])[];
      readonly stroke: string;
      readonly width: number;
      readonly opacity?: number;
    }
  /** What lies in the box of some shapes. */
  | (Box & { readonly kind: "clip"; readonly shapes: readonly Shape[] })
  /** Cells of a few colours, by their number. */
  | (Box & {
      readonly kind: "pixels";
      readonly columns: number;
      readonly rows: number;
      readonly pixels: Uint8Array;
      readonly colours: readonly RGB[];
    })
  /** The colours of a heat map, the highest above. */
  | (Box & { readonly kind: "ramp" });

export interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly label: string;
  readonly paper: string;
  readonly shapes: readonly Shape[];
}
