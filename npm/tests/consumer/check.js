/** Compare a classifier with `golden/`: the same in Node.js, in a page and in a worker. */

const FILES = { plain: "engine-int4", rejecting: "engine-int8", several: "engine-int8" };

/**
 * @param load the package's.
 * @param read returns what golden/NAME.json says.
 * @param place returns the address of a golden file.
 * @returns how many texts were right.
 */
export async function check(load, read, place) {
  let texts = 0;
  for (const [name, key] of Object.entries(FILES)) {
    const golden = await read(`${name}.json`);
    const classifier = await load(place(`${name}.retvec`));
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
    classifier.delete();
  }
  return texts;
}
