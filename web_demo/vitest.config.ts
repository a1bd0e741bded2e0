import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** The package as it is written, not as it is built. */
const core = fileURLToPath(new URL("../npm/src/core.ts", import.meta.url));
const source = { resolve: { alias: { "retvec-lite/core": core } } };

export default defineConfig({
  test: {
    projects: [
      { ...source, test: { name: "unit", include: ["tests/*.test.ts"] } },
      { root: "../npm", test: { name: "package", include: ["tests/*.test.ts"] } },
      // One browser at a time: some of these tests measure time.
      {
        test: {
          name: "browser",
          include: ["browser/*.test.ts"],
          fileParallelism: false,
          testTimeout: 1_800_000,
          hookTimeout: 1_800_000,
        },
      },
    ],
  },
});
