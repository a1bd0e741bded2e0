/** How a project without types of the web uses the package; only its types are checked. */
import { insideEngine, load, type Source, Update } from "retvec-lite";

export async function labelOf(file: Uint8Array, manifest: Uint8Array): Promise<string | null> {
  const update = await Update.verify(manifest, manifest, "", "router");
  const source: Source = update.manifest.name === "router" ? file : "classifier-int8.retvec";
  return (await load(source, { engine: await insideEngine() })).predict("a").label;
}
