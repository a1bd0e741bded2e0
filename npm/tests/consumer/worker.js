import { load } from "./node_modules/retvec-lite/dist/index.js";
import { check } from "./check.js";

const place = (name) => new URL(`golden/${name}`, import.meta.url);
check(load, async (name) => (await fetch(place(name))).json(), place).then(postMessage, (error) =>
  postMessage(String(error)),
);
