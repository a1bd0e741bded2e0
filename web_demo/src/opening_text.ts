/** What the page asks a file when it opens: files hold no text of their training. */
import type { Classifier } from "retvec-lite/core";

/** About what people often classify. */
const SENTENCES = [
  "I love it, this is the best film I have seen for years",
  "Where is my parcel? It should have arrived yesterday",
  "I want my money back",
  "Congratulations, you have won a prize: click here to claim it",
  "The government raises taxes after the election",
];

/** How probable an answer is that settles it. */
const SURE = 0.9;

/** Return the text that stands there if the file is sure of its label, else a sentence or the name of a label, the first or surest. */
export function openingText(model: Pick<Classifier, "labels" | "predictAll">, text: string): string {
  let found = text;
  let most = 0;
  for (const tried of [text, ...SENTENCES, ...model.labels.map(plain)]) {
    const share = model.predictAll(tried)[0]?.probability ?? 0;
    if (share > most) [found, most] = [tried, share];
    if (most >= SURE) break;
  }
  return found;
}

/** Return the name of a label as people write it. */
function plain(label: string): string {
  return label
    .replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, " ")
    .trim();
}
