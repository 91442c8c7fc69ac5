import type { SchemaVersion } from "../catalog/catalog.js";
import type { SchemaId, WorkspaceId } from "../ids.js";
import { SDK_TYPES, type SdkType } from "./item.js";

/** Ids that begin so are the built-in schemas'. */
export const RESERVED_PREFIX = "sdk.";
export const isReserved = (schemaId: string): boolean => schemaId.startsWith(RESERVED_PREFIX);

export const sdkSchemaId = (type: SdkType): SchemaId => `${RESERVED_PREFIX}${type}` as SchemaId;

/** SDKs also write null for "none". */
const OBJECT = { type: ["object", "null"] };
const TRAITS = { ...OBJECT, "x-traits": true };
const SHAPES: Readonly<Record<SdkType, Readonly<Record<string, object>>>> = {
  track: { event: { type: "string" }, properties: OBJECT },
  page: { name: { type: ["string", "null"] }, properties: OBJECT },
  screen: { name: { type: ["string", "null"] }, properties: OBJECT },
  // RudderStack's browser and Python SDKs send them in the context alone.
  identify: { traits: TRAITS, context: { ...OBJECT, properties: { traits: TRAITS } } },
  group: { groupId: { type: ["string", "number", "null"] }, traits: OBJECT },
  alias: {},
};

const BUILT_IN: ReadonlyMap<string, SchemaVersion> = new Map(
  SDK_TYPES.map((type) => {
    const schema = JSON.stringify({ type: "object", properties: { context: OBJECT, ...SHAPES[type] } });
    const version: SchemaVersion = {
      // Of no workspace, so that what is compiled of it serves all.
      workspace: "" as WorkspaceId,
      schemaId: sdkSchemaId(type),
      version: 1,
      schema,
      compatibility: "backward",
      linear: true,
      traits: {},
      createdAt: 0,
    };
    return [version.schemaId, version] as const;
  }),
);

/** The version, or the latest; each workspace has these. */
export const builtInSchema = (schemaId: SchemaId, version: number | null): SchemaVersion | null =>
  version === null || version === 1 ? (BUILT_IN.get(schemaId) ?? null) : null;
