/** retvec-lite without an engine inside: for pages that load `engine.wasm` themselves, or only `.tflite` files. */
export { Classifier, type Embedded } from "./answers.js";
export type { Artifact, EncoderConfig, Signature } from "./artifact.js";
export type { Decision, Prediction } from "./decision.js";
export { type EngineOptions, RetvecEngine } from "./engine.js";
export { RetvecLiteError } from "./errors.js";
export { explain, type Span } from "./explain.js";
export type { PredictOptions, Text } from "./given.js";
export type { LiteRt, LiteRtModel, LiteRtTensor } from "./litert_classifier.js";
export { load, type LoadOptions } from "./load.js";
export { isRetvec } from "./retvec_file.js";
export type { Source } from "./source.js";
export { SEPARATORS } from "./tables.js";
export { decompress } from "./zip.js";
