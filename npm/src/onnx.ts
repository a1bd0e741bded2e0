/** What stands around the graph of an exported `.onnx`, which any ONNX Runtime runs: condensing, windows, and none of the labels. */
import type { Prediction } from "./classifier.js";
import { causeOf, RetvecError } from "./errors.js";
import { checkString, isA, isRejecting, type PredictOptions, shown } from "./given.js";
import { Heap } from "./heap.js";
import { type Engine, started } from "./load.js";
import { type Decision, isRecord } from "./retvec_file.js";
import { firstCharacters, fromUtf8, MOST_GIVEN, pointsOf, windowsOf } from "./text.js";

/** Runs the graph: the input `codepoints`, int32 `[1, max_chars]`, becomes the output `probabilities`. */
export type RunOnnx = (codepoints: Int32Array) => PromiseLike<ArrayLike<number>> | ArrayLike<number>;

/** Field of a `ModelProto` with the metadata: https://onnx.ai/onnx/repo-docs/IR.html. */
const PROPERTIES = 14;
const CONTRACT_VERSION = 3;
/** The smallest probability that counts: that of a float of 32 bits. */
const TINY = 2 ** -126;

interface Facts {
  readonly labels: readonly string[];
  readonly encoder: { readonly max_chars: number };
  readonly decision?: Decision | null;
}

/** An exported `.onnx`, which `loadOnnx` opens; it answers as a `Classifier` does, but when the runtime has answered. */
export class OnnxClassifier {
  readonly labels: readonly string[];
  private readonly characters: ReadonlySet<string>;
  /** Where `rvl_rules` lie. */
  private readonly rules: number;

  /** @internal */
  constructor(
    private readonly facts: Facts,
    private readonly run: RunOnnx,
    private readonly heap: Heap,
  ) {
    this.labels = facts.labels;
    this.rules = heap.take(8);
    [0, facts.encoder.max_chars].forEach((rule, at) => heap.view().setUint32(this.rules + 4 * at, rule, true));
    this.characters = new Set(facts.decision?.characters);
  }

  /** Return the label of a text and its probability. The label is null for a text that belongs to none. */
  async predict(text: string, options: PredictOptions = {}): Promise<Prediction> {
    const reject = isRejecting("predict", options);
    const { known, found } = await this.answer("predict", text);
    const [first] = reject ? found : known;
    return first ?? { label: null, probability: known[0]?.probability ?? 0 };
  }

  /** Return all labels of a text, most probable first: one or none, or any number for a file with several labels a text. */
  async predictAll(text: string): Promise<Prediction[]> {
    return (await this.answer("predictAll", text)).found;
  }

  /** Return the probabilities in the order of the labels. Long texts are read in windows. */
  async probabilities(text: string): Promise<Float32Array> {
    return Float32Array.from(await this.combined(this.windows("probabilities", text)));
  }

  /** Return the labels that can be an answer, and those that are one, each most probable first. */
  private async answer(call: string, text: string): Promise<{ known: Prediction[]; found: Prediction[] }> {
    const windows = this.windows(call, text);
    const row = await this.combined(windows);
    const { decision } = this.facts;
    const all = this.labels.map((label, at) => ({
      label,
      probability: row[at] as number,
      least: decision?.thresholds?.[at],
    }));
    const none = all.find(({ label }) => label === decision?.unknown_label)?.probability ?? 0;
    const known = all.filter(({ label }) => label !== decision?.unknown_label);
    known.sort((one, other) => other.probability - one.probability);
    const [best] = known;
    const bound = (decision?.threshold ?? 0) * none ** (decision?.unknown_power ?? 0);
    const fits = decision?.thresholds
      ? known.filter(({ probability, least = 1 }) => probability >= least)
      : known.slice(0, best && best.probability >= bound && best.probability >= none ? 1 : 0);
    const plain = ({ label, probability }: Prediction): Prediction => ({ label, probability });
    return { known: known.map(plain), found: windows.some((window) => this.reads(window)) ? fits.map(plain) : [] };
  }

  /** Return the probabilities of a text from those of its windows: rule 2 of "Long texts" in docs/contract.md. */
  private async combined(windows: readonly number[][]): Promise<ArrayLike<number>> {
    const read = windows.filter((window) => this.reads(window));
    const counting = read.length ? read : windows;
    const rows: number[][] = [];
    for (const window of counting) rows.push(Array.from(await this.run(this.padded(window))));
    const { decision } = this.facts;
    const size = this.labels.length;
    for (const row of rows) {
      if (row.length !== size)
        throw new RetvecError("WRONG_CALL", `The runtime answered ${row.length} numbers, not ${size}.`);
    }
    const [only] = rows;
    if (windows.length === 1 && only) return only;
    if (decision?.thresholds) return this.labels.map((_, at) => Math.max(...rows.map((row) => row[at] as number)));
    const weights = rows.map((row) => {
      const surprises = this.labels.map((label, at) => {
        const share = decision?.shares?.[at] ?? 1 / size;
        const probability = Math.max(row[at] as number, TINY);
        return label === decision?.unknown_label ? 0 : probability * Math.log(probability / share);
      });
      return Math.exp(2 * surprises.reduce((sum, one) => sum + one, 0));
    });
    const total = weights.reduce((sum, one) => sum + one, 0);
    return this.labels.map(
      (_, at) => rows.reduce((sum, row, of) => sum + (weights[of] as number) * (row[at] as number), 0) / total,
    );
  }

  /** Return what is read of a text: one window, or several of a long one. */
  private windows(call: string, text: unknown): number[][] {
    checkString(call, text);
    const { max_chars: most } = this.facts.encoder;
    const { heap, rules } = this;
    const [codes, count, result] = heap.place(pointsOf(firstCharacters(text, MOST_GIVEN)), 128 * most);
    const read = heap.wasm.rvl_condense_by(rules, codes, count, result) >>> 0;
    return windowsOf(Array.from(new Uint32Array(heap.wasm.memory.buffer, result, read)), most);
  }

  private padded(window: readonly number[]): Int32Array {
    const row = new Int32Array(this.facts.encoder.max_chars);
    row.set(window);
    return row;
  }

  /** Whether a window has a letter or digit that training texts contained. */
  private reads(window: readonly number[]): boolean {
    return !this.characters.size || window.some((point) => this.characters.has(String.fromCodePoint(point)));
  }
}

/** @param engine condenses texts. */
export async function loadOnnxWith(file: Uint8Array, run: RunOnnx, engine: Engine): Promise<OnnxClassifier> {
  if (!isA(file, "Uint8Array") || typeof run !== "function") {
    throw new RetvecError(
      "WRONG_CALL",
      `loadOnnx takes the bytes of a file and a function that runs it, not ${shown(file)} and ${shown(run)}.`,
    );
  }
  return new OnnxClassifier(factsOf(file), run, new Heap(await started(engine)));
}

/** Read the metadata of a file. */
function factsOf(file: Uint8Array): Facts {
  let facts: unknown;
  try {
    for (const [number, entry] of fieldsOf(file)) {
      const property = new Map(number === PROPERTIES ? fieldsOf(entry) : []);
      if (fromUtf8(property.get(1) ?? new Uint8Array()) === "retvec_lite.json")
        facts = JSON.parse(fromUtf8(property.get(2) ?? new Uint8Array()));
    }
  } catch (error) {
    throw new RetvecError("RVL_DAMAGED", `The .onnx is damaged: ${causeOf(error)}. Export it again.`);
  }
  if (!isRecord(facts) || facts.format !== "retvec-lite") {
    throw new RetvecError("RVL_NOT_RETVEC", "This is no .onnx that retvec-lite exported.");
  }
  if (facts.contract_version !== CONTRACT_VERSION) {
    throw new RetvecError(
      "RVL_VERSION",
      `The .onnx follows version ${shown(facts.contract_version)} of the contract, and this package reads ${CONTRACT_VERSION}.`,
    );
  }
  const { encoder, labels, decision = null } = facts;
  const isWhole =
    isRecord(encoder) &&
    Number.isInteger(encoder.max_chars) &&
    (encoder.max_chars as number) > 0 &&
    Array.isArray(labels);
  if (!isWhole || !(decision === null || (isRecord(decision) && typeof decision.characters === "string"))) {
    throw new RetvecError("RVL_DAMAGED", "The .onnx is damaged: its metadata are incomplete. Export it again.");
  }
  return facts as unknown as Facts;
}

/** Yield the numbers of the fields of a protobuf message, and what they hold where that has a length: https://protobuf.dev/programming-guides/encoding. */
function* fieldsOf(message: Uint8Array): Generator<[number, Uint8Array]> {
  let at = 0;
  const next = (): number => {
    for (let found = 0, unit = 1; ; unit *= 128) {
      const byte = message[at++];
      if (byte === undefined) throw new Error("it is cut short");
      found += (byte & 127) * unit;
      if (byte < 128) return found;
    }
  };
  while (at < message.length) {
    const key = next();
    const kind = key % 8;
    const size = kind === 2 ? next() : kind === 1 ? 8 : kind === 5 ? 4 : kind === 0 ? next() * 0 : Number.NaN;
    if (!(at + size <= message.length)) throw new Error("it is cut short");
    if (kind === 2) yield [Math.floor(key / 8), message.subarray(at, at + size)];
    at += size;
  }
}
