/** Ways of writing a text that people read without effort, to see whether its label stays. They are not random. */
import { attack } from "./attacks";
import tables from "./tables.json";

type Write = (text: string) => string;

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SMALL_CAPITALS = "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡxʏᴢ";
const GREEK = [0x386, 0x3ff] as const;
const CYRILLIC = [0x400, 0x52f] as const;
const BETWEEN = [" 🌿 ", " 🎲 ", " 🐢 "];

/** Each way with its name, the text as it is first. */
export const WAYS: readonly (readonly [name: string, write: Write])[] = [
  ["As written", (text) => text],
  ["Fullwidth", alphabet(0xff21, 0xff41)],
  ["Mathematical", alphabet(0x1d400, 0x1d41a)],
  ["Small capitals", replacing(LETTERS, [...SMALL_CAPITALS, ...SMALL_CAPITALS])],
  ["Cyrillic letters", lookalikes(...CYRILLIC)],
  ["Greek letters", lookalikes(...GREEK)],
  ["Accents", replacing("aeiouAEIOU", [..."àéîõüÀÉÎÕÜ"])],
  ["Struck through", (text) => text.replace(/\p{L}/gu, "$&\u0336")],
  ["Invisible characters", (text) => attack(text, "zero-width", 0)],
  ["Leetspeak", (text) => attack(text, "leet", 0)],
  ["Dots", (text) => text.replace(/\p{L}(?=\p{L})/gu, "$&.")],
  ["Spaces", (text) => text.replace(/\s+/g, "   ").replace(/\p{L}(?=\p{L})/gu, "$& ")],
  ["Repeated letters", (text) => text.replace(/(\p{L})(\p{L})(?=\p{L})/gu, "$1$2$2$2")],
  ["Words in pairs", (text) => text.replace(/(\S+)\s+(\S+)/g, "$1$2")],
  ["Capitals", (text) => text.toUpperCase()],
  ["Emoji between words", (text) => text.trim().split(/\s+/).reduce(joinByEmoji)],
  ["With !!!", (text) => `${text}!!!`],
  ["With emoji", (text) => `${text} 🙂🙂`],
  ["With a link", (text) => `${text} https://example.com/a1`],
];

function replacing(letters: string, others: readonly string[]): Write {
  const table = new Map([...letters].map((letter, at) => [letter, others[at] as string]));
  return (text) => Array.from(text, (character) => table.get(character) ?? character).join("");
}

function alphabet(upper: number, lower: number): Write {
  return replacing(
    LETTERS,
    Array.from(LETTERS, (_, at) => String.fromCodePoint(at < 26 ? upper + at : lower + at - 26)),
  );
}

/** Replace every letter that has a lookalike between two code points by the first of them. */
function lookalikes(first: number, last: number): Write {
  const isOther = (letter: string): boolean =>
    letter >= String.fromCodePoint(first) && letter <= String.fromCodePoint(last);
  const others = Array.from(LETTERS, (letter) => {
    const all: string = (tables.homoglyphs as Record<string, string>)[letter] ?? "";
    return Array.from(all).find(isOther) ?? letter;
  });
  return replacing(LETTERS, others);
}

function joinByEmoji(before: string, word: string, at: number): string {
  return `${before}${BETWEEN[at % BETWEEN.length]}${word}`;
}
