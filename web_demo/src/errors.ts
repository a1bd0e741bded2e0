import { RetvecError } from "retvec-lite/core";

/** Return the message of anything thrown: libraries also throw strings, numbers and DOM events. */
export function errorMessage(error: unknown): string {
  if (error instanceof RetvecError) return error.message;
  const cause = error instanceof Error ? error.message : String(error);
  return `Something went wrong: ${cause.replace(/\s+/g, " ").trim() || "an error without a message"}`;
}
