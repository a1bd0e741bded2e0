/** How a project in TypeScript uses the package; only its types are checked. */
import {
  type Classifier,
  type Embedded,
  type ErrorCode,
  insideEngine,
  load,
  type LoadOptions,
  type Memory,
  type Prediction,
  type PredictOptions,
  RetvecError,
  type Source,
  type Span,
  type Text,
} from "retvec-lite";
import { load as loadWith } from "retvec-lite/core";

export async function main(bytes: Uint8Array, signal: AbortSignal, options: LoadOptions = {}): Promise<string> {
  const classifier: Classifier = await load(new URL("classifier-int8.retvec", "https://example.org"), { signal });
  const { label, probability }: Prediction = classifier.predict("where is my parcle?", { reject: false });
  const spans: Span[] = classifier.explain("where is my parcle?", label);
  const all: readonly Prediction[] = classifier.predictAll("a");
  const many: Prediction[] = classifier.predictMany(new Set(["a", "b"]), options.name ? { reject: false } : {});
  const other = await loadWith(bytes, { name: "a.retvec", words: 0 });
  const { words, text }: Embedded = other.embed("a");
  await load(bytes, { engine: await insideEngine() });
  other[Symbol.dispose]();
  // @ts-expect-error: a text is no number
  classifier.predict(5);
  // @ts-expect-error: one text
  classifier.predict(["a"]);
  // @ts-expect-error: no such option
  classifier.predict("a", { rejct: false });
  // @ts-expect-error: a label by its name
  classifier.explain("a", 2);
  // @ts-expect-error: no source
  await load(5);
  const code: ErrorCode = "WRONG_CALL";
  if (probability > 1) throw new RetvecError(code, classifier.labels.join());
  return `${spans.length} ${all.length} ${many.length} ${words.length} ${text.length}`;
}

/** What an app may have a file in. */
export async function sources(file: File, answer: Promise<Response>): Promise<Embedded[]> {
  const all: (Source | Promise<Source>)[] = [file, answer, await file.arrayBuffer(), new DataView(new ArrayBuffer(8))];
  const text: Text = [97, 98];
  return Promise.all(all.map(async (source) => (await load(source)).embed(text)));
}

export function taught(classifier: Classifier, how: PredictOptions): string | null {
  classifier.teach("a", "new");
  classifier.forget("a");
  const memory: Memory = classifier.memory;
  const [[text] = ["", ""]]: [string, string][] = memory.texts;
  memory.load(memory.save());
  const { label } = classifier.predict(text, how);
  classifier.close();
  return label;
}
