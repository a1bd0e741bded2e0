/** Compare a classifier with `golden/`: the same in Node.js, in a page and in a worker. */

const FILES = { "plain.retvec": "engine-int8", "rejecting.retvec": "engine-int8", "several.retvec": "engine-int8" };

/**
 * @param load the package's.
 * @param read returns what golden/NAME.json says.
 * @param place returns the address of a golden file.
 * @param files name of a golden file -> its key in the answers.
 * @returns how many texts were right.
 */
export async function check(load, read, place, files = FILES) {
  let texts = 0;
  for (const [name, key] of Object.entries(files)) {
    const golden = await read(name.replace(/\.\w+$/, ".json"));
    const classifier = await load(place(name));
    for (const { name: about, text, codepoints, probabilities, labels } of [...golden.cases, ...golden.long]) {
      const found = await classifier.probabilities(text ?? codepoints);
      const off = Math.max(...probabilities[key].map((value, label) => Math.abs(value - found[label])));
      if (!(off <= golden.tolerance[key])) throw new Error(`${name}, ${about}: ${off} off`);
      const expected = labels?.[key];
      if (expected !== undefined && text !== null) {
        const all = (await classifier.predictAll(text)).map(({ label }) => label).sort();
        const wanted = Array.isArray(expected) ? [...expected].sort() : expected === null ? [] : [expected];
        if (JSON.stringify(all) !== JSON.stringify(wanted)) throw new Error(`${name}, ${about}: ${all}, not ${wanted}`);
      }
      texts += 1;
    }
    classifier.close();
  }
  return texts;
}
