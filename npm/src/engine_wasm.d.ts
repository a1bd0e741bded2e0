/** Written by scripts/build.mjs: `engine.wasm`, packed with gzip, in base64. */
export declare const ENGINE: string;
