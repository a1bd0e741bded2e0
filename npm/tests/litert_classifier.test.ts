import { beforeEach, describe, expect, it } from "vitest";
import type { Artifact, Signature } from "../src/artifact.js";
import { misuse } from "./consumer/misuse.js";
import { type LiteRt, LiteRtClassifier } from "../src/litert_classifier.js";

/** A fake runtime that counts: which signatures ran on what, and how many tensors are left. */
const runtime = { live: 0, calls: [] as [string, number[]][], slots: 0, fails: false, compiled: 0 };

const litert = fake();

function fake(): LiteRt {
  class Tensor {
    constructor(
      readonly data: Int32Array | Float32Array,
      readonly shape: number[],
    ) {
      runtime.live += 1;
    }
    toTypedArray(): ArrayLike<number> {
      return this.data;
    }
    delete() {
      runtime.live -= 1;
    }
  }
  const details = (tensors: Record<string, string>) =>
    Object.entries(tensors).map(([name, type]) => {
      const [, dtype, shape] = /^(\w+)\[(.*)\]$/.exec(type) as RegExpExecArray;
      return { name, dtype: dtype as string, shape: (shape as string).split(",").map(Number) };
    });
  const signature = (name: string, input: string, outputs: Record<string, string>) => ({
    getInputDetails: () => details({ codepoints: input }),
    getOutputDetails: () => details(outputs),
    run: async (inputs: Record<string, unknown>) => {
      const codepoints = inputs.codepoints as Tensor;
      if (runtime.fails) throw new Error("out of memory");
      expect(codepoints.shape).toEqual([1, codepoints.data.length]);
      runtime.calls.push([name, [...codepoints.data]]);
      const made: Record<string, Int32Array | Float32Array> = {
        probabilities: new Float32Array([0.25, 0.75]),
        slots: new Int32Array([runtime.slots]),
        words: new Int32Array([104, 105, 0, 0, 0, 0]),
        embeddings: new Float32Array(6),
        text: new Float32Array([0.6, 0.8]),
      };
      return Object.fromEntries(Object.keys(outputs).map((key) => [key, new Tensor(made[key] as Float32Array, [])]));
    },
  });
  return {
    Tensor,
    loadAndCompile: async () => {
      runtime.compiled += 1;
      return {
        signatures: {
          classify: signature("classify", "int32[1,9]", { probabilities: "float32[1,2]" }),
          classify_2: signature("classify_2", "int32[1,4]", { slots: "int32[1]", probabilities: "float32[1,2]" }),
          embed: signature("embed", "int32[1,9]", {
            text: "float32[1,2]",
            words: "int32[1,3,2]",
            embeddings: "float32[1,3,2]",
          }),
        },
        delete: () => {
          runtime.compiled -= 1;
        },
      };
    },
  };
}

const SIGNATURES: Signature[] = [
  { name: "classify", kind: "classify", max_chars: 9, max_words: 3 },
  { name: "classify_2", kind: "classify", max_chars: 4, max_words: 2 },
  { name: "embed", kind: "embed", max_chars: 9, max_words: 3, dimension: 2 },
];

function artifact(signatures = SIGNATURES, version = 2): Artifact {
  const encoder = { max_chars: 9, max_words: 3, word_length: 2 };
  return {
    name: "m.tflite",
    size: 1,
    model: new Uint8Array(),
    labels: ["no", "yes"],
    contractVersion: version,
    encoder,
    signatures,
    decision: undefined,
    metadata: { contract_version: version },
  };
}

beforeEach(() => Object.assign(runtime, { live: 0, calls: [], slots: 1, fails: false, compiled: 0 }));
const ran = () => runtime.calls.map(([name]) => name);

describe("LiteRtClassifier", () => {
  it("runs the smallest signature that the text fits into", async () => {
    const classifier = await LiteRtClassifier.load(artifact(), litert);
    expect([...(await classifier.probabilities("hi 👍"))]).toEqual([0.25, 0.75]);
    expect(runtime.calls).toEqual([["classify_2", [104, 105, 32, 0x1f44d]]]);
  });

  it("takes the next larger signature for more code points, or for more words than slots", async () => {
    const classifier = await LiteRtClassifier.load(artifact(), litert);
    await classifier.probabilities("hello");
    expect(ran()).toEqual(["classify"]);
    runtime.slots = 3;
    await classifier.probabilities("a b");
    expect(ran()).toEqual(["classify", "classify_2", "classify"]);
    runtime.slots = 2;
    await classifier.probabilities("a b");
    expect(ran().at(-1)).toBe("classify_2");
  });

  it("skips a signature when the text has more spaces than it has slots for", async () => {
    const classifier = await LiteRtClassifier.load(artifact(), litert);
    await classifier.probabilities("a  b");
    expect(ran()).toEqual(["classify"]);
  });

  it("pads to the length of the input, and cuts files of version 1", async () => {
    const old = await LiteRtClassifier.load(artifact(SIGNATURES, 1), litert);
    await old.probabilities("0123456789abc");
    expect(runtime.calls[0]?.[1]).toEqual([..."012345678"].map((digit) => digit.charCodeAt(0)));
    const classifier = await LiteRtClassifier.load(artifact(), litert);
    await classifier.probabilities([0xd800, 7]);
    expect(runtime.calls[1]?.[1]).toEqual([0xd800, 7, 0, 0]);
  });

  it("predicts: the label, or null for none of them", async () => {
    const decision = { threshold: 0.8, unknown_label: null, unknown_power: 0, characters: "hi" };
    const classifier = await LiteRtClassifier.load({ ...artifact(), decision }, litert);
    expect(await classifier.predict("hi")).toEqual({ label: null, probability: 0.75 });
    expect(await classifier.predict("hi", { reject: false })).toEqual({ label: "yes", probability: 0.75 });
    const milder = await LiteRtClassifier.load({ ...artifact(), decision: { ...decision, threshold: 0.7 } }, litert);
    expect((await milder.predict("hi")).label).toBe("yes");
    // All of a text of several windows counts, but no more than is read.
    expect((await milder.predict("123456789h")).label).toBe("yes");
    expect(milder.readLimit).toBe(288);
    expect((await milder.predict(`${"1".repeat(288)}h`)).label).toBeNull();
  });

  it("embeds: returns the words without padding", async () => {
    const classifier = await LiteRtClassifier.load(artifact(), litert);
    expect(classifier.embeds).toBe(true);
    const { words, text } = await classifier.embed("hi");
    expect(words).toEqual([[104, 105]]);
    expect([...text]).toEqual([...new Float32Array([0.6, 0.8])]);
  });

  it("answers long texts by their windows", async () => {
    const classifier = await LiteRtClassifier.load(artifact(), litert);
    expect([...(await classifier.probabilities("one two three four"))]).toEqual([0.25, 0.75]);
    expect(ran()).toEqual(["classify", "classify", "classify_2"]);
    const { words, text } = await classifier.embed("one two three four");
    expect(words).toHaveLength(3);
    expect(Math.hypot(...text)).toBeCloseTo(1, 6);
  });

  it("runs a file that has classify alone", async () => {
    const classifier = await LiteRtClassifier.load(artifact(SIGNATURES.slice(0, 1)), litert);
    expect(classifier.embeds).toBe(false);
    await classifier.probabilities("a");
    expect(ran()).toEqual(["classify"]);
    await expect(classifier.embed("a")).rejects.toThrow("--embed");
  });

  it("deletes every tensor, even when a call fails, and the model at the end", async () => {
    const classifier = await LiteRtClassifier.load(artifact(), litert);
    runtime.slots = 3;
    await classifier.probabilities("a b");
    await classifier.embed("a b");
    expect(runtime.live).toBe(0);
    runtime.fails = true;
    await expect(classifier.probabilities("a")).rejects.toThrow("out of memory");
    expect(runtime.live).toBe(0);
    classifier.delete();
    classifier.delete();
    expect(runtime.compiled).toBe(0);
  });

  it("refuses what is no text, unknown labels, and everything after delete", async () => {
    expect(await misuse(await LiteRtClassifier.load(artifact(), litert))).toBeGreaterThan(100);
    expect(await misuse(await LiteRtClassifier.load(artifact(SIGNATURES.slice(0, 1)), litert))).toBeGreaterThan(90);
    expect(runtime).toMatchObject({ live: 0, compiled: 0 });
  });

  it.each([
    ["a length", { max_chars: 10 }],
    ["a name", { name: "classify_9" }],
  ])("refuses a model whose interface differs from its metadata: %s", async (_, change) => {
    const wrong = SIGNATURES.map((signature, at) => (at ? signature : { ...signature, ...change }));
    await expect(LiteRtClassifier.load(artifact(wrong), litert)).rejects.toThrow(
      /^The signature classify\w* of m\.tflite is .*, but its metadata describe /,
    );
    expect(runtime.compiled).toBe(0);
  });
});
