/** Call a classifier wrongly in every way, and see that it says so: the same in Node.js and in a page. */

const TEXTS = ["predict", "predictAll", "probabilities", "explain", "embed", "teach", "forget"];
const NO_TEXTS = [
  [undefined, "not undefined."],
  [null, "not null."],
  [5, "not 5."],
  [true, "not true."],
  [7n, "not 7."],
  [Symbol("a"), "not Symbol(a)."],
  [() => "a", "not a function."],
  [{ text: "a" }, "not an object."],
  [Object.create(null), "not an object."],
  [new Map(), "not an object of the class Map."],
  [new String("a"), "not an object of the class String."],
  [[], "not a list."],
  [["text"], "not a list."],
  [["a", "b"], "not a list."],
  [[0.5], "not a list."],
  [[2 ** 32], "not a list."],
  [[97, "b"], "not a list."],
  [[NaN], "not a list."],
  [new Uint8Array(3), "not a list."],
];

/** @returns the message of the one kind of error that users see. */
export async function messageOf(call) {
  try {
    await call();
  } catch (error) {
    if (error.name !== "RetvecError") throw error;
    if (!/^[A-Z]+(_[A-Z]+)*$/.test(error.code)) throw new Error(`No code: ${error.code}`);
    if (!/^[^\n]+[.!]$/.test(error.message)) throw new Error(`No sentence: ${error.message}`);
    return error.message;
  }
  throw new Error(`No error from ${call}`);
}

async function expect(call, end) {
  const message = await messageOf(call);
  if (!message.includes(end)) throw new Error(`${call}: ${JSON.stringify(message)} has no ${JSON.stringify(end)}`);
  return 1;
}

/** @returns how many calls were refused; deletes the classifier. */
export async function misuse(classifier) {
  let refused = 0;
  const calls = TEXTS.filter((name) => name !== "embed" || classifier.embeds);
  for (const name of calls) {
    for (const [value, end] of NO_TEXTS) refused += await expect(() => classifier[name](value), end);
    refused += await expect(() => classifier[name](), `${name} takes a text, not undefined.`);
  }
  refused += await expect(() => classifier.explain([97, 98]), "not a list.");
  for (const label of ["no such label", "", 0, 2, NaN, {}, ["a"], false]) {
    refused += await expect(
      () => classifier.explain("a text", label),
      `is not a label of this classifier: ${classifier.labels[0]}`,
    );
  }
  for (const options of [null, true, "reject", 5, [], () => 1]) {
    refused += await expect(
      () => classifier.predict("a text", options),
      "The options of predict are an object ({ reject }), not",
    );
  }
  for (const reject of [null, 0, 1, "false", {}]) {
    refused += await expect(
      () => classifier.predict("a text", { reject }),
      "The option reject of predict is true or false, not",
    );
  }
  for (const name of ["rejct", "toString", "__proto__x"]) {
    refused += await expect(() => classifier.predict("a text", { [name]: true }), `predict has no option ${name}.`);
  }
  for (const [value, end] of [
    [undefined, "not undefined."],
    [5, "not 5."],
    ["a text", 'not "a text". Use predict for one.'],
    [{}, "not an object."],
  ]) {
    refused += await expect(() => classifier.predictMany(value), `predictMany takes a list of texts, ${end}`);
  }
  refused += await expect(() => classifier.predictMany(["a text", null]), "predict takes a text, not null.");
  if (!classifier.embeds) refused += await expect(() => classifier.embed("a"), "This file has no embeddings");
  await rightUse(classifier);
  classifier.close();
  classifier.close();
  for (const name of TEXTS) {
    refused += await expect(() => classifier[name]("a text"), "This classifier was closed. Load its file again.");
  }
  refused += await expect(() => classifier.embeds, "This classifier was closed. Load its file again.");
  return refused;
}

/** What is right after all of that: unpaired surrogates, as in Python, and nothing said where something may be. */
async function rightUse(classifier) {
  const same = async (one, other) => {
    const [found, expected] = [JSON.stringify(await one), JSON.stringify(await other)];
    if (found !== expected) throw new Error(`${found}, not ${expected}`);
  };
  await same(classifier.predict("a text", undefined), classifier.predict("a text"));
  await same(classifier.predict("a text", { reject: undefined }), classifier.predict("a text", {}));
  await same(classifier.explain("a text", null), classifier.explain("a text"));
  await same(classifier.probabilities("a\ud800b \udfffc"), classifier.probabilities("a\ufffdb \ufffdc"));
  const [found, all] = [
    await classifier.probabilities("a text"),
    await classifier.explain("a text", classifier.labels[1]),
  ];
  if (!(found instanceof Float32Array && found.length === classifier.labels.length)) throw new Error(`${found}`);
  if (!all.every(({ start, end, weight }) => start < end && Number.isFinite(weight)))
    throw new Error(JSON.stringify(all));
  if (!classifier.embeds) return;
  const { words, text } = await classifier.embed("a text");
  if (words.length === 0 || Math.abs(Math.hypot(...text) - 1) > 1e-5) throw new Error(`${words} ${text}`);
}
