/** How a project in TypeScript uses the package; only its types are checked. */
import * as litert from "@litertjs/core";
import { type Classifier, load, type Prediction, RetvecEngine, RetvecLiteError, type Span } from "retvec-lite";
import { load as loadWith } from "retvec-lite/core";

export async function main(bytes: Uint8Array, engine: WebAssembly.Module): Promise<string> {
  const classifier: Classifier = await load(new URL("classifier-int8.retvec", "https://example.org"));
  const { label, probability }: Prediction = await classifier.predict("where is my parcle?", { reject: false });
  const spans: Span[] = await classifier.explain("where is my parcle?", label ?? undefined);
  const all: readonly Prediction[] = await classifier.predictAll("a");
  const other = await loadWith(bytes, { name: "a.tflite", engine, litert });
  const { text } = await other.embed("a");
  const now: Prediction = (await RetvecEngine.load(engine, bytes)).predict("a");
  // @ts-expect-error: a text is no number
  await classifier.predict(5);
  if (probability > 1) throw new RetvecLiteError(classifier.labels.join());
  return `${spans.length} ${all.length} ${text.length} ${now.probability}`;
}
