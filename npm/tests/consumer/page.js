/** Answer in the page and in a worker; `globalThis.found` has both. */
import { load } from "./node_modules/retvec-lite/dist/index.js";
import { check } from "./check.js";

const inWorker = new Promise((resolve, reject) => {
  const worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = reject;
});
const inPage = check(
  load,
  async (name) => (await fetch(`golden/${name}`)).json(),
  (name) => `golden/${name}`,
);
const said = await load("golden/missing.retvec").catch(({ message }) => message);
globalThis.found = [await inPage, await inWorker, said];
