/** `node threads.js`: the engine is compiled once, and shared by threads. */
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { insideEngine, load } from "retvec-lite";

if (isMainThread) {
  const engine = await insideEngine();
  for (let number = 0; number < 2; number++) {
    const thread = new Worker(new URL(import.meta.url), { workerData: engine });
    thread.on("message", (label) => console.log(label));
  }
} else {
  const classifier = await load("classifier-int8.retvec", { engine: workerData });
  parentPort.postMessage(classifier.predict("my pakcage never arived").label);
}
