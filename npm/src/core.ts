/** retvec-lite without an engine inside: for pages and hosts that load `engine.wasm` themselves. */
export { Classifier, type Embedded, type Prediction, type Span } from "./classifier.js";
export { type ErrorCode, RetvecError, type UpdateCode } from "./errors.js";
export type { PredictOptions } from "./given.js";
export type { Memory } from "./memory.js";
export { type Engine, load, type LoadOptions } from "./load.js";
export type { OnnxClassifier, RunOnnx } from "./onnx.js";
export type { Artifact, Decision, EncoderConfig } from "./retvec_file.js";
export type { Source } from "./source.js";
export type { Text } from "./text.js";
export { type Manifest, Update } from "./update.js";
