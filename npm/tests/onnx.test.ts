/** What stands around an `.onnx`, by the golden files: the engine takes the place of a runtime. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { RetvecError } from "../src/errors.js";
import { load } from "../src/load.js";
import { loadOnnxWith, type OnnxClassifier } from "../src/onnx.js";

interface Case {
  readonly text: string | null;
  readonly codepoints?: readonly number[];
  readonly windows?: readonly number[];
  readonly probabilities: Readonly<Record<string, readonly number[]>>;
  readonly labels?: Readonly<Record<string, string | null | readonly string[]>>;
}

interface Golden {
  readonly encoder: { readonly max_chars: number };
  readonly labels: readonly string[];
  readonly decision?: object;
  readonly cases: readonly Case[];
  readonly long: readonly Case[];
}

const KEY = "engine-int8";
const UNSURE = "cannot be asked";
const engine = await WebAssembly.compile(readFileSync(new URL("../../retvec_lite/web/engine.wasm", import.meta.url)));
const utf8 = (text: string): number[] => [...new TextEncoder().encode(text)];
const goldenOf = (name: string): Golden =>
  JSON.parse(readFileSync(new URL(`../../golden/${name}.json`, import.meta.url), "utf-8")) as Golden;

/** A field of a protobuf message with a length. */
function field(number: number, content: readonly number[]): number[] {
  const size = [];
  for (let left = content.length; ; left = Math.floor(left / 128)) {
    size.push((left % 128) + (left < 128 ? 0 : 128));
    if (left < 128) return [8 * number + 2, ...size, ...content];
  }
}

/** What an `.onnx` is, but for its graph: a version, a graph, a number of 64 bits and properties. */
function onnxOf(facts: object, name = "retvec_lite.json"): Uint8Array {
  const property = (key: string, value: string): number[] =>
    field(14, [...field(1, utf8(key)), ...field(2, utf8(value))]);
  const parts = [[8, 136, 1], field(7, utf8("a graph".repeat(50))), [...[121], ...new Array<number>(8).fill(255)]];
  return Uint8Array.from([
    ...parts.flat(),
    ...property("labels.txt", "a\nb"),
    ...property(name, JSON.stringify(facts)),
  ]);
}

const factsOf = ({ encoder, labels, decision }: Golden): object => ({
  ...{ format: "retvec-lite", contract_version: 3, encoder, labels },
  ...(decision ? { decision } : {}),
});

/** A classifier whose graph is that of the `.retvec` of the same name, for one window at a time. */
async function classifierOf(name: string, decision?: object): Promise<[OnnxClassifier, Golden, string[]]> {
  const file = readFileSync(new URL(`../../golden/${name}.retvec`, import.meta.url));
  const [graph, golden, asked] = [await load(file, { engine }), goldenOf(name), [] as string[]];
  const run = async (codepoints: Int32Array): Promise<Float32Array> => {
    expect(codepoints.length).toBe(golden.encoder.max_chars);
    const points = [...codepoints.subarray(0, codepoints.findLastIndex((point) => point > 0) + 1)];
    // The engine condenses once more, which changes what was written as code of code: "&amp;lt;".
    const isSame = !points.length || String(graph.windows(points)) === String(points);
    asked.push(isSame ? points.map((point) => String.fromCodePoint(point)).join("") : UNSURE);
    return graph.probabilities(points.length ? points : "");
  };
  const facts = factsOf(decision ? { ...golden, decision } : golden);
  return [await loadOnnxWith(onnxOf(facts), run, engine), golden, asked];
}

it.each(["rejecting", "several"])("%s: the answers of the golden file", async (name) => {
  const [classifier, { cases, long, labels }, asked] = await classifierOf(name);
  expect(classifier.labels).toEqual(labels);
  let none = 0;
  let unsure = 0;
  for (const { text, probabilities, labels: right } of [...cases, ...long]) {
    if (text === null) continue;
    asked.length = 0;
    const found = await classifier.probabilities(text);
    if (asked.includes(UNSURE)) {
      unsure++;
      continue;
    }
    const furthest = Math.max(...found.map((value, at) => Math.abs(value - (probabilities[KEY]?.[at] as number))));
    expect(furthest, text).toBeLessThan(2e-3);
    if (!right || !(KEY in right)) continue;
    const wanted = [right[KEY] ?? []].flat();
    expect((await classifier.predictAll(text)).map(({ label }) => label).sort(), text).toEqual(wanted.sort());
    const { label, probability } = await classifier.predict(text);
    expect(wanted.length ? wanted : [null], text).toContain(label);
    if (!wanted.length) expect(probability).toBeCloseTo(Math.max(...found), 6);
    none += Number(!wanted.length);
  }
  expect(none).toBeGreaterThan(5);
  expect(unsure).toBeLessThan(12);
});

it("texts are condensed and cut into windows", async () => {
  const [classifier, { encoder, long }, asked] = await classifierOf("rejecting");
  await classifier.predict(`<b>Hello</b>${".".repeat(1000)}`);
  expect(asked).toEqual(["Hello."]);
  for (const { text, windows } of long) {
    asked.length = 0;
    await classifier.predict(text as string);
    expect(asked.length).toBe(windows?.length);
    for (const window of asked) expect([...window].length).toBeLessThanOrEqual(encoder.max_chars);
  }
});

it("a label for texts of no label is never an answer", async () => {
  const given = goldenOf("rejecting");
  const decision = { threshold: null, unknown_label: "music", unknown_power: 0.2, characters: "" };
  const [classifier] = await classifierOf("rejecting", { ...given.decision, ...decision });
  expect((await classifier.predict("play some jazz")).label).toBeNull();
  expect((await classifier.predict("play some jazz", { reject: false })).label).not.toBe("music");
  expect((await classifier.predict("where is my parcel")).label).toBe("delivery");
});

it("other files, other versions and wrong calls are refused in a sentence", async () => {
  const facts = factsOf(goldenOf("rejecting"));
  const whole = onnxOf(facts);
  const refused: [code: string, file: unknown][] = [
    ["WRONG_CALL", "classifier-int8.onnx"],
    ["RVL_NOT_RETVEC", new Uint8Array()],
    ["RVL_NOT_RETVEC", onnxOf(facts, "other.json")],
    ["RVL_NOT_RETVEC", onnxOf({})],
    ["RVL_VERSION", onnxOf({ ...facts, contract_version: 4 })],
    ["RVL_DAMAGED", onnxOf({ ...facts, encoder: {} })],
    ["RVL_DAMAGED", onnxOf({ ...facts, decision: [] })],
    ...[1, 50, 1000].map((lost): [string, Uint8Array] => ["RVL_DAMAGED", whole.slice(0, -lost)]),
    ["RVL_DAMAGED", Uint8Array.of(255, 255, 255, 255)],
    ["RVL_DAMAGED", Uint8Array.of(11, 1)],
  ];
  for (const [code, file] of refused) {
    const error: unknown = await loadOnnxWith(file as Uint8Array, () => [], engine).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RetvecError);
    expect(error).toMatchObject({ code, message: expect.stringMatching(/^[^\n]+\.$/) });
  }
  const short = await loadOnnxWith(whole, () => [1], engine);
  await expect(short.predict("a")).rejects.toMatchObject({ code: "WRONG_CALL" });
  await expect(short.predict(5 as unknown as string)).rejects.toMatchObject({ code: "WRONG_CALL" });
});
