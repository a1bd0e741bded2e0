/** Answer in a page, and in a worker that gets the compiled engine: `globalThis.found` has both labels. */
import { insideEngine, load } from "retvec-lite";

const worker = new Worker(new URL("./page_worker.js", import.meta.url), { type: "module" });
const inWorker = new Promise((resolve) => {
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = ({ message }) => resolve(message);
});
worker.postMessage([new URL("classifier-int8.retvec", location.href).href, await insideEngine()]);
const classifier = await load("classifier-int8.retvec");
globalThis.found = [classifier.predict("my pakcage never arived").label, await inWorker];
