/** A host that compiles no bytes: it gets the engine compiled. */
import { load as loadInside } from "retvec-lite";
import { load } from "retvec-lite/core";
import engine from "retvec-lite/engine.wasm";
import file from "./classifier-int8.retvec";

export default {
  async fetch(request) {
    const classifier = await load(file, { engine });
    const refused = await loadInside(file).catch(({ code, message }) => `${code}: ${message}`);
    return Response.json([classifier.predict(await request.text()).label, refused]);
  },
};
