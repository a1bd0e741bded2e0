import { createHash } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { readArtifact } from "../src/artifact.js";

const MODEL = new Uint8Array([0x1c, 0, 0, 0, ...new TextEncoder().encode("TFL3"), ...Array(400).fill(7)]);
const LABELS = ["no", "yes", 'other, 🙂 "quoted"'];
const METADATA = {
  format: "retvec-lite",
  contract_version: 1,
  encoder: { max_chars: 32, max_words: 8, word_length: 16, contract_version: 1 },
  labels: LABELS,
  model_sha256: createHash("sha256").update(MODEL).digest("hex"),
};

const crc = (data: Uint8Array): number => {
  let value = -1;
  for (const byte of data) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (value & 1 ? 0xedb88320 : 0);
  }
  return ~value >>> 0;
};

/** A file as the exporter writes it; `damage` changes the CRC of every member. */
function file(
  changes: object = {},
  { deflated = false, shift = 0, damage = 0, labels = `${LABELS.join("\n")}\n` } = {},
): Uint8Array {
  const members: [string, Uint8Array][] = [
    ["labels.txt", new TextEncoder().encode(labels)],
    ["retvec_lite.json", new TextEncoder().encode(JSON.stringify({ ...METADATA, ...changes }))],
  ];
  const local: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = MODEL.length - shift;
  for (const [name, content] of members) {
    const packed = deflated ? deflateRawSync(content) : Buffer.from(content);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(deflated ? 8 : 0, 4);
    common.writeUInt32LE((crc(content) ^ damage) >>> 0, 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(name.length, 22);
    const header = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), common, Buffer.from(name), packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00", "latin1"), common, rest, Buffer.from(name)]));
    local.push(header);
    offset += header.length;
  }
  const size = directory.reduce((sum, entry) => sum + entry.length, 0);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(offset, 16);
  return new Uint8Array(Buffer.concat([MODEL, ...local, ...directory, end]));
}

describe("readArtifact", () => {
  it.each([{}, { deflated: true }, { shift: MODEL.length }])("reads what the exporter writes, %o", async (options) => {
    const artifact = await readArtifact("m.tflite", file({}, options));
    expect(artifact.labels).toEqual(LABELS);
    expect(artifact.model).toEqual(MODEL);
    expect(artifact.encoder.max_words).toBe(8);
  });

  it("gives files without a list of signatures `classify` alone", async () => {
    const { signatures } = await readArtifact("m.tflite", file());
    expect(signatures).toEqual([{ name: "classify", kind: "classify", max_chars: 32, max_words: 8 }]);
  });

  it("reads the listed signatures", async () => {
    const signatures = [
      { name: "classify_4", kind: "classify", max_chars: 16, max_words: 4 },
      { name: "classify", kind: "classify", max_chars: 32, max_words: 8 },
      { name: "embed", kind: "embed", max_chars: 32, max_words: 8, dimension: 3 },
    ];
    expect((await readArtifact("m.tflite", file({ signatures }))).signatures).toEqual(signatures);
  });

  const whole = file();
  it.each([
    ["no model", new TextEncoder().encode("<!doctype html><p>404"), "m.tflite is not a .tflite model."],
    ["nothing", new Uint8Array(), "m.tflite is not a .tflite model."],
    [
      "no zip tail",
      MODEL,
      "m.tflite (408 bytes) has no readable retvec_lite.json: it is cut short, or retvec-lite did not export it.",
    ],
    ["cut short", whole.subarray(0, -30), "has no readable retvec_lite.json"],
    ["a wrong CRC", file({}, { damage: 1 }), "has no readable retvec_lite.json"],
    ["another format", file({ format: "other" }), "The retvec_lite.json in m.tflite was not written by retvec-lite."],
    [
      "a newer contract",
      file({ contract_version: 3, labels: 5 }),
      "m.tflite follows contract version 3, but this release reads versions 1 to 2.",
    ],
    ["a contract that equals 1 elsewhere", file({ contract_version: true }), "m.tflite follows contract version true"],
    [
      "other labels",
      file({ labels: ["a", "b"] }),
      "m.tflite needs 2 or more labels, the same in labels.txt and retvec_lite.json.",
    ],
    ["one label", file({ labels: ["no"] }, { labels: "no\n" }), "m.tflite needs 2 or more labels"],
    ["a changed model", file({ model_sha256: "0" }), "m.tflite was changed after its export"],
    ["no sizes", file({ encoder: { max_chars: 0 } }), "The encoder sizes in m.tflite must be positive integers"],
    [
      "signatures without classify",
      file({ signatures: [] }),
      'The signatures in m.tflite are damaged, or "classify" is missing: []. Export it again.',
    ],
  ])("refuses %s", async (_, bytes, message) => {
    const error = await readArtifact("m.tflite", bytes as Uint8Array).catch((problem: Error) => problem);
    expect(error).toBeInstanceOf(Error);
    expect((error as Error).name).toBe("RetvecLiteError");
    expect((error as Error).message).toContain(message);
  });
});
