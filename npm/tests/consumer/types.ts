/** How a project in TypeScript uses the package; only its types are checked. */
import {
  type Classifier,
  type Embedded,
  type EngineOptions,
  insideEngine,
  load,
  type LoadOptions,
  type Memory,
  type Prediction,
  type PredictOptions,
  RetvecEngine,
  RetvecLiteError,
  type Source,
  type Span,
  type Text,
} from "retvec-lite";
import { load as loadWith } from "retvec-lite/core";

export async function main(bytes: Uint8Array, engine: WebAssembly.Module): Promise<string> {
  const classifier: Classifier = await load(new URL("classifier-int8.retvec", "https://example.org"));
  const { label, probability }: Prediction = await classifier.predict("where is my parcle?", { reject: false });
  const spans: Span[] = await classifier.explain("where is my parcle?", label ?? undefined);
  const all: readonly Prediction[] = await classifier.predictAll("a");
  const other = await loadWith(bytes, { name: "a.retvec", engine });
  const { text } = await other.embed("a");
  const now: Prediction = (await RetvecEngine.load(engine, bytes)).predict("a");
  // @ts-expect-error: a text is no number
  await classifier.predict(5);
  // @ts-expect-error: one text
  await classifier.predict(["a"]);
  // @ts-expect-error: no such option
  await classifier.predict("a", { rejct: false });
  // @ts-expect-error: a label by its name
  await classifier.explain("a", 2);
  // @ts-expect-error: no source
  await load(5);
  if (probability > 1) throw new RetvecLiteError(classifier.labels.join());
  return `${spans.length} ${all.length} ${text.length} ${now.probability}`;
}

/** What an app may have a file in. */
export async function sources(file: File, answer: Promise<Response>, options: LoadOptions = {}): Promise<Embedded[]> {
  const all: (Source | Promise<Source>)[] = [file, answer, await file.arrayBuffer(), new DataView(new ArrayBuffer(8))];
  const classifiers = await Promise.all(all.map((source) => load(source, options)));
  const text: Text = [97, 98];
  return Promise.all(classifiers.map((classifier) => classifier.embed(text)));
}

/** The calls of both classes are the same, but for promises. */
export async function now(bytes: Uint8Array, options: EngineOptions, how: PredictOptions): Promise<void> {
  const engine = await RetvecEngine.load(await insideEngine(), bytes, options);
  const { label }: Prediction = engine.predict("a", how);
  const spans: Span[] = engine.explain("a", label);
  const { words, text }: Embedded = engine.embed("a");
  engine.teach("a", "new");
  engine.forget("a");
  const memory: Memory = engine.memory;
  const [[taught, its] = ["", ""]]: [string, string][] = memory.texts;
  memory.load(memory.save());
  engine.delete();
  const calls: {
    [Call in "predict" | "predictAll" | "probabilities" | "explain" | "embed" | "teach" | "forget"]: (
      ...given: Parameters<Classifier[Call]>
    ) => Awaited<ReturnType<Classifier[Call]>>;
  } = engine;
  if (spans.length + words.length + text.length + taught.length + its.length > 99) calls.predict("a");
}
