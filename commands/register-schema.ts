import type { Compatibility, SchemaVersion } from "../core/catalog/catalog.js";
import { DECLARED_TRAITS_MAX } from "../core/catalog/decide.js";
import { AppError, mismatch, type ErrorItem } from "../core/errors.js";
import { newId, type SchemaId, type WorkspaceId } from "../core/ids.js";
import { isReserved, RESERVED_PREFIX } from "../core/sdk/schemas.js";
import { SCHEMA_BYTES_MAX } from "../core/schema/limits/limits.js";
import { compareSchemas, examineSchema } from "../core/schema/register.js";
import type { Caller, Services } from "./services.js";

export interface GivenSchema {
  readonly schema: unknown;
  /** The schema's text as it was sent; this is what is stored. */
  readonly text: Buffer;
  readonly compatibility?: Compatibility;
  /** The same answer, and nothing is stored. */
  readonly dryRun: boolean;
}

export interface Registered {
  readonly version: SchemaVersion;
  /** Words in the schema that are no keywords. */
  readonly warnings: readonly ErrorItem[];
}

type SchemaServices = Pick<Services, "catalog" | "validator">;
type SchemaCaller = Pick<Caller, "workspace" | "now">;

/** The version, or the latest. Throws `not_found`. */
export async function requireSchema(
  { catalog }: Pick<Services, "catalog">,
  workspace: WorkspaceId,
  schemaId: SchemaId,
  version: number | null,
): Promise<SchemaVersion> {
  const schema = await catalog.findSchema(workspace, schemaId, version);
  if (schema !== null) return schema;
  throw new AppError(
    "not_found",
    version === null ? "There is no such schema." : "There is no such version of this schema.",
  );
}

/** Version 1 of a new schema. Throws `invalid_schema`, and `conflict` when the id is taken. */
export async function registerSchema(
  services: SchemaServices,
  { workspace, now }: SchemaCaller,
  schemaId: SchemaId | undefined,
  given: GivenSchema,
): Promise<Registered> {
  if (schemaId !== undefined) requireOwn(schemaId);
  const { examined, warnings } = await examine(services, workspace, given);
  const version = { workspace, schemaId: schemaId ?? newId<SchemaId>(), version: 1, createdAt: now, ...examined };
  if ((await put(services, version, given.dryRun)) === "taken")
    throw new AppError("conflict", `schema_id: ${version.schemaId} is taken.`);
  return { version, warnings };
}

export const TOO_MANY_TRAITS = `would exceed the ${DECLARED_TRAITS_MAX} traits that the schemas of a workspace may declare`;

const TRIES = 10;

/** The next version. If two come at once, the later one is compared with the earlier one and tried again. */
export async function addSchemaVersion(
  services: SchemaServices,
  { workspace, now }: SchemaCaller,
  schemaId: SchemaId,
  given: GivenSchema,
): Promise<Registered> {
  requireOwn(schemaId);
  await requireSchema(services, workspace, schemaId, null);
  const { examined, warnings } = await examine(services, workspace, given);
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const previous = await latestStored(services, workspace, schemaId);
    if (examined.compatibility === "backward") await requireCompatible(services, previous, examined.schema);
    const version = { ...previous, ...examined, version: previous.version + 1, createdAt: now };
    if ((await put(services, version, given.dryRun)) === "created") return { version, warnings };
  }
  throw new AppError("conflict", "Other versions of this schema were registered at the same time. Try again.");
}

/**
 * A version that an export shows, as it is judged here: whatever it says of its own, what runs is what was looked at. Stores nothing. Its
 * compatibility says what was compared where it was registered.
 */
export async function examineRestored(
  { catalog, validator }: SchemaServices,
  given: SchemaVersion,
): Promise<SchemaVersion> {
  const { workspace, schemaId, version, schema } = given;
  requireOwn(schemaId);
  const standing = await catalog.findSchema(workspace, schemaId, version);
  if (standing?.schema === schema) return standing;
  const bytes = Buffer.byteLength(schema);
  // One that is too large is refused before anybody looks at it.
  const parsed = bytes > SCHEMA_BYTES_MAX ? null : (JSON.parse(schema) as unknown);
  const { linear, traits } = await examineSchema(parsed, bytes, validator.thread, workspace);
  return { ...given, linear, traits };
}

function requireOwn(schemaId: SchemaId): void {
  if (isReserved(schemaId))
    throw mismatch([{ path: "schema_id", message: `must not begin with ${RESERVED_PREFIX}: these are built in` }]);
}

async function examine(
  { validator }: Pick<Services, "validator">,
  workspace: WorkspaceId,
  { schema, text, compatibility = "backward" }: GivenSchema,
) {
  const { linear, traits, warnings } = await examineSchema(schema, text.length, validator.thread, workspace);
  return { examined: { schema: text.toString("utf8"), compatibility, linear, traits }, warnings };
}

/** From the list of versions, which is never cached. */
async function latestStored(
  services: SchemaServices,
  workspace: WorkspaceId,
  schemaId: SchemaId,
): Promise<SchemaVersion> {
  const known = await requireSchema(services, workspace, schemaId, null);
  const page = { limit: 1_000, after: known.version };
  return (await services.catalog.schemaVersions(workspace, schemaId, page)).at(-1) ?? known;
}

async function requireCompatible(
  { validator }: Pick<Services, "validator">,
  previous: SchemaVersion,
  next: string,
): Promise<void> {
  const errors = await compareSchemas(previous.schema, next, validator.thread, previous.workspace);
  if (errors.length > 0)
    throw new AppError("incompatible_schema", `Events of version ${previous.version} would no longer match.`, {
      errors,
      schemaId: previous.schemaId,
    });
}

async function put(
  { catalog }: Pick<Services, "catalog">,
  schema: SchemaVersion,
  dryRun: boolean,
): Promise<"created" | "taken"> {
  const result = await (dryRun ? catalog.tryPutSchema(schema) : catalog.putSchema(schema));
  if (result.kind === "created") return "created";
  if (result.kind === "version_taken") return "taken";
  const message =
    result.kind === "too_many_traits"
      ? TOO_MANY_TRAITS
      : `trait ${result.trait} has the merge ${result.merge} in this workspace`;
  throw new AppError("invalid_schema", `schema: ${message}`, { errors: [{ path: "schema", message }] });
}
