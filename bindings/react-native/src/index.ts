/**
 * Classify texts with a `.retvec` file in React Native: raw text in, label out, by the Android and the Swift library of retvec-lite.
 *
 *     const classifier = await RetvecClassifier.open(path);
 *     (await classifier.predict("my pakcage never arived")).label; // null for none of the labels
 */
import { NativeModules } from "react-native";

/** The answer to a text: its label, null for none of them, and the probability of the most probable one. */
export interface Prediction {
  readonly label: string | null;
  readonly probability: number;
  /** The taught text by which the memory answered; null where the file did. */
  readonly taught: string | null;
}

/** A part of a text, from `start` up to `end` as `slice` takes them; by `weight`, the natural logarithm of the label's probability falls without it. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly weight: number;
}

/** The type of every error: `code` is a name of retvec_lite.h, such as "RVL_CHANGED"; or "CANNOT_LOAD", "WRONG_CALL", "NO_ENGINE" or "CLOSED". */
export class RetvecError extends Error {
  override name = "RetvecError";

  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

type Pair = readonly [text: string, label: string];

/** What RetvecLiteModule.kt and RetvecLiteModule.swift have; the first argument is the number of an open classifier. */
interface Native {
  open(path: string): Promise<{ id: number; labels: string[]; metadata: string }>;
  predict(id: number, texts: readonly string[]): Promise<Prediction[]>;
  predictAll(id: number, text: string): Promise<Prediction[]>;
  probabilities(id: number, text: string): Promise<number[]>;
  explain(id: number, text: string, label: string | null): Promise<Span[]>;
  embed(id: number, text: string): Promise<number[]>;
  teach(id: number, text: string, label: string): Promise<void>;
  forget(id: number, text: string): Promise<void>;
  memoryTexts(id: number): Promise<Pair[]>;
  memorySave(id: number, path: string): Promise<void>;
  memoryLoad(id: number, path: string): Promise<void>;
  memoryClear(id: number): Promise<void>;
  close(id: number): Promise<void>;
}

/** Call a function of the platform; what it rejects with becomes a RetvecError. */
async function call<Name extends keyof Native>(
  name: Name,
  ...given: Parameters<Native[Name]>
): Promise<Awaited<ReturnType<Native[Name]>>> {
  const native = NativeModules["RetvecLite"] as Record<string, (...given: unknown[]) => Promise<unknown>> | undefined;
  if (!native?.[name])
    throw new RetvecError(
      "NO_ENGINE",
      "The app was built without retvec-lite-react-native: install its pods and build it again.",
    );
  try {
    return (await native[name](...given)) as Awaited<ReturnType<Native[Name]>>;
  } catch (error) {
    const { code, message } = error as { code?: string; message?: string };
    throw new RetvecError(code ?? "UNKNOWN", message ?? String(error));
  }
}

/** Answers texts, one after the other, in a thread of the platform. Free it with `close`. */
export class RetvecClassifier {
  private constructor(
    private readonly id: number,
    /** The labels, in the order of the probabilities. */
    readonly labels: readonly string[],
    /** What the file says of itself, JSON. */
    readonly metadata: string,
  ) {}

  /** Read a file and start an engine. */
  static async open(path: string): Promise<RetvecClassifier> {
    const { id, labels, metadata } = await call("open", path);
    return new RetvecClassifier(id, labels, metadata);
  }

  /** The label of a text; of several, the most probable one. */
  async predict(text: string): Promise<Prediction> {
    return (await call("predict", this.id, [text]))[0] as Prediction;
  }

  /** The answers to texts, in their order. */
  predictMany = (texts: readonly string[]): Promise<Prediction[]> => call("predict", this.id, texts);

  /** The labels of a text, most probable first: one or none, or any number where the file gives several. */
  predictAll = (text: string): Promise<Prediction[]> => call("predictAll", this.id, text);

  /** The probability of each label. */
  probabilities = (text: string): Promise<number[]> => call("probabilities", this.id, text);

  /** Which words of a text speak for a label, which must be a known one; by default the most probable one. */
  explain = (text: string, label: string | null = null): Promise<Span[]> => call("explain", this.id, text, label);

  /** A vector of length 1, for search by dot product: zeros for a text without words. */
  embed = (text: string): Promise<number[]> => call("embed", this.id, text);

  /** Say that a text has a label, old or new: it, and texts like it, are answered with that label, and all others as before. */
  teach = (text: string, label: string): Promise<void> => call("teach", this.id, text, label);

  /** Undo the teaching of a text. */
  forget = (text: string): Promise<void> => call("forget", this.id, text);

  /** What was taught. It holds the texts themselves: a saved memory is as private as they are. */
  readonly memory = {
    texts: (): Promise<Pair[]> => call("memoryTexts", this.id),
    save: (path: string): Promise<void> => call("memorySave", this.id, path),
    load: (path: string): Promise<void> => call("memoryLoad", this.id, path),
    clear: (): Promise<void> => call("memoryClear", this.id),
  };

  /** Free the engine; calls fail from then on. */
  close = (): Promise<void> => call("close", this.id);
}
