import type { SchemaVersion } from "../../core/catalog/catalog.js";
import { admit } from "../../core/identity/namespaces.js";
import type { SchemaId, WorkspaceId } from "../../core/ids.js";
import type { SchemaWords, Vocabulary } from "../../core/rule/vocabulary.js";
import { createWords } from "../../core/schema/words.js";
import { builtInSchema } from "../../core/sdk/schemas.js";
import { withoutBlocked } from "../admit-identifiers.js";
import type { Services } from "../services.js";

type Catalog = Pick<Services, "catalog">;

/** What rules may name, but for audiences. */
export type Words = Omit<Vocabulary, "audience">;

/** What rules of the workspace may name, but for audiences. Of its schemas only those that stand in this one are read. */
export async function readVocabulary({ catalog }: Catalog, workspace: WorkspaceId, rule: unknown): Promise<Words> {
  const [traits, namespaces] = await Promise.all([catalog.traits(workspace), catalog.namespaces(workspace)]);
  const table = withoutBlocked(namespaces);
  const schemas = new Map<string, SchemaWords | null>();
  for (const schemaId of schemaIdsIn(rule)) schemas.set(schemaId, await readSchema({ catalog }, workspace, schemaId));
  return {
    isTrait: (name) => traits.has(name),
    namespace: (name) =>
      table.has(name)
        ? // What is no value of the namespace was never stored, and is compared as it is.
          { normalize: (value) => admit([{ path: "", namespace: name, value }], table).identifiers[0]?.value ?? value }
        : null,
    schema: (schemaId) => schemas.get(schemaId) ?? null,
  };
}

const VERSIONS_PER_READ = 100;

async function readVersions({ catalog }: Catalog, workspace: WorkspaceId, schemaId: SchemaId) {
  const versions: string[] = [];
  for (let after: number | null = null; ;) {
    const page = { limit: VERSIONS_PER_READ, after };
    const found: readonly SchemaVersion[] = await catalog.schemaVersions(workspace, schemaId, page);
    versions.push(...found.map(({ schema }) => schema));
    if (found.length < VERSIONS_PER_READ) return versions;
    after = found.at(-1)!.version;
  }
}

async function readSchema({ catalog }: Catalog, workspace: WorkspaceId, id: string): Promise<SchemaWords | null> {
  const schemaId = id as SchemaId;
  const builtIn = builtInSchema(schemaId, null);
  const versions = builtIn === null ? await readVersions({ catalog }, workspace, schemaId) : [builtIn.schema];
  if (versions.length === 0) return null;
  const all = versions.map((schema) => createWords(JSON.parse(schema) as object));
  return {
    declares: (path) => all.some((words) => words.declares(path)),
    mayBeNumber: (path) => all.some((words) => words.mayBeNumber(path)),
  };
}

/** A rule has few conditions, so what names more schemas is refused anyway. */
const SCHEMAS_MAX = 50;

/** In whatever was sent: it is checked afterwards. */
function schemaIdsIn(given: unknown): ReadonlySet<string> {
  const found = new Set<string>();
  const left: unknown[] = [given];
  for (const one of left) {
    if (typeof one !== "object" || one === null) continue;
    const { schema_id: id } = one as { readonly schema_id?: unknown };
    if (typeof id === "string" && found.size < SCHEMAS_MAX) found.add(id);
    for (const held of Object.values(one) as readonly unknown[]) left.push(held);
  }
  return found;
}
