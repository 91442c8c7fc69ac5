import type { Identifier } from "../../../core/event/event.js";
import type { Scalar } from "../../../core/profile/facet.js";
import { nameOf } from "../trust/model.js";

/**
 * `together`: no rule that depends on order, so what is sent may arrive in any order, at once and more than once. `in_turn`: limits,
 * forbidden pairs and shared identifiers; each step waits until the one before is done, and its answer is compared.
 */
export type Mode = "together" | "in_turn";

export interface Program {
  readonly mode: Mode;
  readonly steps: readonly Step[];
}

export type Pair = readonly [Identifier, Identifier];

/** What an event says beside who it is about. */
export type Values = Readonly<Record<string, Scalar | readonly Scalar[]>>;

export type SchemaName = "act" | "note";

export interface SentEvent {
  /** Its number in the program. */
  readonly n: number;
  readonly schema: SchemaName;
  readonly who: readonly Identifier[];
  /** So long before the workspace's clock, in minutes; negative: after it. */
  readonly age: number;
  readonly values: Values;
  /** It carries an Idempotency-Key. */
  readonly isKeyed: boolean;
}

export interface IdentityRules {
  readonly limits: Readonly<Record<string, number>>;
  readonly shared: number | null;
  readonly priorities: Readonly<Record<string, number>>;
}

export const WRONGS = ["type", "schema", "future", "json", "member", "nobody"] as const;
export type Wrong = (typeof WRONGS)[number];

/** How several events are sent. `batch_with_wrong`: one of them is refused, the others are accepted. */
export type Door = "collect" | "batch" | "lines" | "atomic" | "batch_with_wrong" | "atomic_with_wrong";

/** `of` counts what came before, from the newest, so that a smaller program still means something. */
export type Work =
  | { readonly kind: "send"; readonly door: Door; readonly events: readonly SentEvent[] }
  | { readonly kind: "again"; readonly of: number }
  /** They become dead letters, which are replayed so many times. */
  | { readonly kind: "die"; readonly events: readonly SentEvent[]; readonly replays: number }
  | { readonly kind: "clash"; readonly of: number }
  | { readonly kind: "wrong"; readonly what: Wrong }
  | { readonly kind: "identify"; readonly who: readonly Identifier[]; readonly dryRun: boolean }
  | { readonly kind: "alias"; readonly pair: Pair; readonly dryRun: boolean }
  | { readonly kind: "unlink"; readonly who: Identifier; readonly dryRun: boolean }
  | { readonly kind: "part"; readonly pair: Pair; readonly forbid: boolean; readonly dryRun: boolean }
  /** A forbidden pair; the given one if there is none. */
  | { readonly kind: "allow"; readonly of: number; readonly pair: Pair }
  | { readonly kind: "revert"; readonly of: number; readonly dryRun: boolean }
  | { readonly kind: "rules"; readonly rules: IdentityRules }
  | { readonly kind: "block"; readonly who: Identifier }
  | { readonly kind: "clock"; readonly minutes: number }
  /** Whether events that come from now on are folded, and those that came before. */
  | { readonly kind: "enable"; readonly schema: SchemaName; readonly isOn: boolean }
  | { readonly kind: "backfill"; readonly schema: SchemaName; readonly enables: boolean }
  | {
      readonly kind: "erase";
      readonly who: Identifier;
      readonly byId: boolean;
      readonly suppress: boolean;
      readonly dryRun: boolean;
    }
  | { readonly kind: "readmit"; readonly of: number }
  /** To an empty workspace of another installation, by exports and an import; the program goes on there. */
  | { readonly kind: "move" }
  | { readonly kind: "retain"; readonly schema: SchemaName; readonly days: number | null }
  | { readonly kind: "look"; readonly who: readonly Identifier[] }
  | { readonly kind: "search"; readonly rule: object }
  /** `{"$audience": n}` in a rule counts from the newest, too. */
  | { readonly kind: "audience"; readonly rule: object }
  | {
      readonly kind: "reword";
      readonly of: number;
      /** Null: it gets another name. */
      readonly rule: object | null;
      /** What If-Match says. */
      readonly match: "none" | "right" | "wrong";
    }
  | { readonly kind: "disband"; readonly of: number };
export type Step = Work & { readonly number: number };
export type StepOf<Kind extends Work["kind"]> = Extract<Step, { readonly kind: Kind }>;

export const showProgram = ({ mode, steps }: Program): string => [mode, ...steps.map(showStep)].join("\n");

function showStep({ number, ...work }: Step): string {
  const { kind, ...rest } = work;
  return `${number} ${kind} ${JSON.stringify(rest, (key, value: unknown) => shown(key, value))}`;
}

const isIdentifier = (value: unknown): value is Identifier =>
  typeof value === "object" && value !== null && "namespace" in value && "value" in value;

const shown = (_key: string, value: unknown): unknown => (isIdentifier(value) ? nameOf(value) : value);
