import { AppError, type ErrorCode } from "../../core/errors.js";

/** For `assert.rejects` and `assert.throws`: an expected failure with this code. */
export const isAppError =
  (code: ErrorCode) =>
  (error: unknown): boolean =>
    error instanceof AppError && error.code === code;
