/** Written by scripts/build.mjs: `engine.wasm`; for pages packed with gzip, in base64. */
export declare const ENGINE: string | BufferSource;
