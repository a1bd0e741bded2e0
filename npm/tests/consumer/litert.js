/** The `.tflite` files of `golden/`, with LiteRT.js as it is published. */
import * as litert from "@litertjs/core";
import { load } from "retvec-lite";
import { check } from "./check.js";

await litert.loadLiteRt("./node_modules/@litertjs/core/wasm/");
const read = async (name) => (await fetch(`golden/${name}`)).json();
const place = (name) => `golden/${name}`;
const files = { "rejecting.tflite": "int8", "several.tflite": "int8" };
globalThis.found = await check((url) => load(url, { litert }), read, place, files);
