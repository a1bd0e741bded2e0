/** Something a person can put right; its message is one sentence "Expected ..., received ...". */
export class PlaygroundError extends Error {
  override name = "PlaygroundError";
}

/** The sentence of an error, whoever threw it: libraries throw strings, numbers and DOM events, too. */
export function sentence(error: unknown): string {
  if (error instanceof PlaygroundError) return error.message;
  const cause = error instanceof Error ? error.message : String(error);
  return `Expected this to work, received: ${cause.replace(/\s+/g, " ").trim() || "an error without a message"}`;
}
