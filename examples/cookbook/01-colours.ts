/**
 * A picture from a rule
 *
 * Every pixel is a function of its row and column: hues from left to right, brighter towards the middle.
 */
import { fromFunction, image, stack } from "../../src/index.ts";

const size = 160;
const x = fromFunction((_, j) => (2 * j) / 159 - 1, [size, size]);
const y = fromFunction((i) => (2 * i) / 159 - 1, [size, size]);
const hue = x.div(2).add(0.5);
const value = x.square().add(y.square()).neg().exp();
const hsv = stack([hue, value.mul(0).add(0.8), value], { axis: 2 });
const pixels = image.hsvToRgb(hsv).mul(255).round().to("u8");
pixels.shape; // → [160, 160, 3]
export const picture = pixels;
