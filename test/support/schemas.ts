import type { SchemaVersion } from "../../core/catalog/catalog.js";
import { AppError, type ErrorItem } from "../../core/errors.js";
import type { SchemaId, WorkspaceId } from "../../core/ids.js";
import { isLinear } from "../../core/schema/limits/linear.js";

/** A registered version, as the catalog would answer it. */
export const aSchema = (schema: object, over: Partial<SchemaVersion> = {}): SchemaVersion => ({
  workspace: "0197a000-0000-7000-8000-000000000001" as WorkspaceId,
  schemaId: "order" as SchemaId,
  version: 1,
  schema: JSON.stringify(schema),
  compatibility: "backward",
  linear: isLinear(schema),
  traits: {},
  createdAt: 0,
  ...over,
});

export const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

/** The items of an expected refusal; anything else fails the test. */
export async function refusal(code: AppError["code"], run: () => unknown): Promise<readonly ErrorItem[]> {
  try {
    await run();
  } catch (error) {
    if (error instanceof AppError && error.code === code) return error.errors ?? [];
    throw error;
  }
  throw new Error(`nothing was refused with ${code}`);
}

const DOUBLINGS = 28;

/** Judged in 2^28 steps, and 1.5 KB long; `properties.slow` holds it, so that an empty object stays cheap. */
export function doublingSchema(): object {
  const $defs: Record<string, object> = { [`d${DOUBLINGS}`]: {} };
  for (let at = 0; at < DOUBLINGS; at += 1) {
    const next = { $ref: `#/$defs/d${at + 1}` };
    $defs[`d${at}`] = { allOf: [next, next] };
  }
  return { type: "object", properties: { slow: { $ref: "#/$defs/d0" } }, $defs };
}

/** The same for any object. */
export const doublingRoot = (): object => ({ ...doublingSchema(), $ref: "#/$defs/d0" });

/** Recursive, hence for the thread, and cheap. */
export const treeSchema = {
  type: "object",
  properties: { name: { type: "string" }, child: { $ref: "#" } },
};
