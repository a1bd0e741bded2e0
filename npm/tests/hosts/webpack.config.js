export default {
  mode: "production",
  entry: "./page.js",
  output: { path: `${import.meta.dirname}/dist`, filename: "page.js" },
};
