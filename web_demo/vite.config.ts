import { fileURLToPath } from "node:url";
import { defaultClientConditions, defineConfig } from "vite";

const TARGET = fileURLToPath(new URL("../retvec_lite/web/", import.meta.url));

// No hashes in the names: Python serves these files by name and inlines them for --export.
export default defineConfig({
  base: "./",
  resolve: { conditions: ["retvec-lite-source", ...defaultClientConditions] },
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
