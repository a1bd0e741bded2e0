/** The `.tflite` files of `golden/`, with LiteRT.js as it is published. */
import * as litert from "@litertjs/core";
import { load } from "retvec-lite";
import { check } from "./check.js";
import { misuse } from "./misuse.js";

await litert.loadLiteRt("./node_modules/@litertjs/core/wasm/");
const read = async (name) => (await fetch(`golden/${name}`)).json();
const place = (name) => `golden/${name}`;
const files = { "rejecting.tflite": "int8", "several.tflite": "int8" };
const answered = await check((url) => load(url, { litert }), read, place, files);
globalThis.found = [answered, (await misuse(await load(place("several.tflite"), { litert }))) > 90];
