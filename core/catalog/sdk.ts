import type { SchemaId } from "../ids.js";

/** What becomes of an event that is not in the plan. */
export const UNPLANNED = ["accept", "mark", "quarantine"] as const;
export type Unplanned = (typeof UNPLANNED)[number];

/** What becomes of an event that does not match the schema of its plan. */
export const VIOLATIONS = ["mark", "omit", "quarantine"] as const;
export type Violations = (typeof VIOLATIONS)[number];

/** What a workspace set for the events of SDKs. */
export interface SdkSettings {
  readonly unplanned: Unplanned;
  readonly violations: Violations;
  /** Whether what `collect` refuses with 422 is kept as a dead letter. */
  readonly keepRejects: boolean;
  /** Whether a collect-only key may add a trait's name just by using it. */
  readonly collectOnlyAddsTraits: boolean;
  /** These three are identifiers only where they are switched on. */
  readonly phone: boolean;
  readonly deviceId: boolean;
  readonly advertisingId: boolean;
}

/** The settings of a workspace that never changed them. */
export const DEFAULT_SDK_SETTINGS: SdkSettings = {
  unplanned: "accept",
  violations: "mark",
  keepRejects: false,
  collectOnlyAddsTraits: false,
  phone: false,
  deviceId: false,
  advertisingId: false,
};

/** One event of the plan; what is null is as the settings say. */
export interface PlannedEvent {
  /** As SDKs name it in `track`. */
  readonly name: string;
  /** Null: it has no schema yet, so it counts as unplanned, by its own `unplanned`. */
  readonly schemaId: SchemaId | null;
  readonly unplanned: Unplanned | null;
  readonly violations: Violations | null;
}

/** Each name once. */
export type SdkPlan = readonly PlannedEvent[];

/** All that a workspace set for SDKs: read together, because every event of an SDK needs both. */
export interface SdkCatalog {
  readonly settings: SdkSettings;
  readonly plan: SdkPlan;
}

export const DEFAULT_SDK_CATALOG: SdkCatalog = { settings: DEFAULT_SDK_SETTINGS, plan: [] };

const tables = new WeakMap<SdkPlan, ReadonlyMap<string, PlannedEvent>>();

/** The plan's entry for an event. The same plan is read once. */
export function plannedEvent(plan: SdkPlan, name: string): PlannedEvent | null {
  let table = tables.get(plan);
  if (table === undefined) {
    table = new Map(plan.map((event) => [event.name, event]));
    tables.set(plan, table);
  }
  return table.get(name) ?? null;
}
