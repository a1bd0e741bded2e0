import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const TARGET = fileURLToPath(new URL("../retvec_lite/web/", import.meta.url));

// No hashes in the names: Python serves these files by name and inlines them for --export.
export default defineConfig({
  base: "./",
  resolve: { alias: { "retvec-lite/core": fileURLToPath(new URL("../npm/src/core.ts", import.meta.url)) } }, // as it is written, not as it is built
  build: {
    target: "es2023",
    outDir: TARGET,
    emptyOutDir: false,
    assetsInlineLimit: 0,
    modulePreload: false,
    rolldownOptions: {
      output: { entryFileNames: "app.js", assetFileNames: "app[extname]", codeSplitting: false },
    },
  },
});
