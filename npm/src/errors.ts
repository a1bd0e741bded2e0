/** An error for the user; its message says what is wrong and how to fix it. */
export class RetvecLiteError extends Error {
  override name = "RetvecLiteError";
}
