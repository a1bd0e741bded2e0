/** What hosts do that compile no bytes; only its types are checked. */
import { type Classifier, load } from "retvec-lite/core";
import engine from "retvec-lite/engine.wasm";

export const opened = (file: Uint8Array): Promise<Classifier> => load(file, { engine });
