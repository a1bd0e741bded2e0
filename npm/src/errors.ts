/** An error for the user; its message says what is wrong and how to fix it. */
export class RetvecLiteError extends Error {
  override name = "RetvecLiteError";
}

/** Return what was thrown in one line, without a full stop. */
export function causeOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ").replace(/\.? *$/, "");
}
