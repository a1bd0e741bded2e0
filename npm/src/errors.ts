/** Names of the engine's problems by their numbers, as in engine/retvec_lite.h. */
export const ENGINE_CODES = [
  "RVL_OK",
  "RVL_NOT_RETVEC",
  "RVL_VERSION",
  "RVL_TRUNCATED",
  "RVL_CHANGED",
  "RVL_DAMAGED",
  "RVL_BLOCK_SIZE",
  "RVL_ALIGNMENT",
  "RVL_UNTEACHABLE",
  "RVL_NO_MEMORY",
  "RVL_NO_TEXT",
  "RVL_LABEL",
  "RVL_FULL",
  "RVL_NOT_TAUGHT",
  "RVL_NOT_A_MEMORY",
  "RVL_MEMORY_VERSION",
  "RVL_MEMORY_DAMAGED",
] as const;

/**
 * What is wrong: the engine's codes, and those of this package. `WRONG_CALL`: an argument, or a call that the file cannot answer;
 * `CANNOT_LOAD`: a file that nobody could read; `NO_ENGINE`: the engine is missing or cannot start; `NO_SPACE`: too little memory;
 * `CLOSED`: a call after `close`.
 */
export type ErrorCode =
  (typeof ENGINE_CODES)[number] | UpdateCode | "WRONG_CALL" | "CANNOT_LOAD" | "NO_ENGINE" | "NO_SPACE" | "CLOSED";

/** Why an update is refused: docs/updates.md says what each means. `PLATFORM`: no Ed25519 here. */
export type UpdateCode =
  `UPDATE_${"KEY" | "SIGNATURE" | "MANIFEST" | "NAME" | "OLD" | "INSTALLED" | "CONTRACT" | "FILE" | "ANSWERS" | "PLATFORM"}`;

/** The one error that users see; its message says what is wrong and how to fix it, and its code does for programs. */
export class RetvecError extends Error {
  override name = "RetvecError";

  constructor(
    readonly code: ErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/** Return what was thrown in one line, without a full stop. */
export function causeOf(error: unknown): string {
  return ((error as Error | undefined)?.message ?? String(error)).replace(/\s+/g, " ").replace(/\.? *$/, "");
}
