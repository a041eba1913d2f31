/** What users see of onnx. */
export { type LoadOptions, load, open } from "../onnx.ts";
