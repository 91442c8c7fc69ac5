import type { ErrorItem } from "../../errors.js";
import type { Examination } from "../examine.js";

/** What the thread is asked; `id` names the request in its answers. */
export type Request =
  | { readonly id: number; readonly kind: "examine"; readonly schema: string }
  | { readonly id: number; readonly kind: "compare"; readonly previous: string; readonly next: string }
  | {
      readonly id: number;
      readonly kind: "validate";
      /** Names the compiled schema for ever: the same name never stands for another text. */
      readonly name: string;
      /** Null when the thread was sent the text before; it may have dropped it. */
      readonly schema: string | null;
      /** JSON, UTF-8. */
      readonly payload: Uint8Array;
      /** So many problems instead of the first one. */
      readonly all: number | null;
    };

export type Answer =
  /** `tid`: what the operating system calls the thread; null where it does not say. */
  | { readonly kind: "ready"; readonly tid: number | null }
  /** The request's next stage begins, and with it its time limit. */
  | { readonly kind: "stage"; readonly id: number }
  | { readonly kind: "needs_schema"; readonly id: number }
  | { readonly kind: "examined"; readonly id: number; readonly examination: Examination }
  | { readonly kind: "compared"; readonly id: number; readonly errors: readonly ErrorItem[] }
  | { readonly kind: "validated"; readonly id: number; readonly errors: readonly ErrorItem[] }
  /** It threw an error: the payload is nested too deeply for the stack. */
  | { readonly kind: "failed"; readonly id: number };

/** How many compiled schemas the thread keeps. */
export const COMPILED_MAX = 500;
