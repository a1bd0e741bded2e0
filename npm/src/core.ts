/** retvec-lite without an engine inside: for pages that load `engine.wasm` themselves, or only `.tflite` files. */
export { Classifier, type Embedded } from "./answers.js";
export type { Artifact, EncoderConfig, Signature } from "./artifact.js";
export type { Decision, Prediction } from "./decision.js";
export { RetvecEngine } from "./engine.js";
export { isRetvec } from "./engine_classifier.js";
export { RetvecLiteError } from "./errors.js";
export { explain, type Span } from "./explain.js";
export type { LiteRt, LiteRtModel, LiteRtTensor } from "./litert_classifier.js";
export { load, type LoadOptions, type Source } from "./load.js";
export { SEPARATORS } from "./tables.js";
export { decompress } from "./zip.js";
