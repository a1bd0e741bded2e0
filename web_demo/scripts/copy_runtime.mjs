// Copy LiteRT's script and WebAssembly into the Python package, packed with xz: 1.9 MB instead of 9.3 MB in the
// repository. Python's standard library unpacks them; it also packs them here, because Node.js has no xz.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const pack = `
import lzma, pathlib, sys
source, target = map(pathlib.Path, sys.argv[1:])
filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0}]
for name in ("litert.js", "litert.wasm"):
    data = (source / name.replace("litert", "litert_wasm_compat_internal")).read_bytes()
    packed = lzma.compress(data, check=lzma.CHECK_SHA256, filters=filters)
    (target / f"{name}.xz").write_bytes(packed)
    print(f"{name}.xz: {len(packed):,} of {len(data):,} bytes")
`;
const folder = (path) => fileURLToPath(new URL(path, import.meta.url));
execFileSync(
  process.env.PYTHON ?? "python3",
  ["-c", pack, folder("../../node_modules/@litertjs/core/wasm"), folder("../../retvec_lite/web")],
  { stdio: "inherit" },
);
