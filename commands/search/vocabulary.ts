import { setImmediate as nextTurn } from "node:timers/promises";
import type { SchemaVersion } from "../../core/catalog/catalog.js";
import { admit } from "../../core/identity/namespaces.js";
import type { SchemaId, WorkspaceId } from "../../core/ids.js";
import { CONDITIONS_MAX, DEPTH_MAX } from "../../core/rule/size.js";
import type { SchemaWords, Vocabulary } from "../../core/rule/vocabulary.js";
import { createWords } from "../../core/schema/words.js";
import { builtInSchema } from "../../core/sdk/schemas.js";
import { withoutBlocked } from "../admit-identifiers.js";
import type { Services } from "../services.js";

type Catalog = Pick<Services, "catalog">;

/** What rules may name, but for audiences. */
export type Words = Omit<Vocabulary, "audience">;

/** What this rule of the workspace may name, but for audiences. Of its schemas only what the rule asks of them is kept. */
export async function readVocabulary({ catalog }: Catalog, workspace: WorkspaceId, rule: unknown): Promise<Words> {
  const [traits, namespaces] = await Promise.all([catalog.traits(workspace), catalog.namespaces(workspace)]);
  const table = withoutBlocked(namespaces);
  const schemas = new Map<string, SchemaWords | null>();
  for (const [schemaId, questions] of questionsIn(rule))
    schemas.set(schemaId, await readSchema({ catalog }, workspace, schemaId as SchemaId, questions));
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

/** The paths of payloads that a rule asks about; one that a version of the schema answered with yes is no longer there. */
interface Questions {
  readonly declares: Set<string>;
  readonly mayBeNumber: Set<string>;
}

async function readSchema(
  { catalog }: Catalog,
  workspace: WorkspaceId,
  schemaId: SchemaId,
  questions: Questions,
): Promise<SchemaWords | null> {
  const builtIn = builtInSchema(schemaId, null);
  const latest = builtIn ?? (await catalog.findSchema(workspace, schemaId, null));
  if (latest === null) return null;
  // It nearly always answers all, and is in the cache.
  await ask(questions, latest.schema);
  if (builtIn === null) await askVersions({ catalog }, workspace, schemaId, questions);
  return {
    declares: (path) => path.length <= NAMES_MAX && !questions.declares.has(path.join(".")),
    mayBeNumber: (path) => !questions.mayBeNumber.has(path.join(".")),
  };
}

const VERSIONS_PER_READ = 20;

/** One version after the other, however many there are: all of them at once may be more than the memory holds. */
async function askVersions(
  { catalog }: Catalog,
  workspace: WorkspaceId,
  schemaId: SchemaId,
  questions: Questions,
): Promise<void> {
  for (let after: number | null = null; isOpen(questions);) {
    const page = { limit: VERSIONS_PER_READ, after };
    const found: readonly SchemaVersion[] = await catalog.schemaVersions(workspace, schemaId, page);
    for (const { schema } of found) await ask(questions, schema);
    if (found.length < VERSIONS_PER_READ) return;
    after = found.at(-1)!.version;
  }
}

const isOpen = ({ declares, mayBeNumber }: Questions): boolean => declares.size + mayBeNumber.size > 0;

async function ask(questions: Questions, schema: string): Promise<void> {
  if (!isOpen(questions)) return;
  const { declares, mayBeNumber } = questions;
  const words = createWords(JSON.parse(schema) as object);
  for (const path of declares) {
    if (words.declares(path.split("."))) declares.delete(path);
    // A large schema, looked through for many paths or in many versions, would hold up everybody in one turn.
    await nextTurn();
  }
  for (const path of mayBeNumber) {
    if (words.mayBeNumber(path.split("."))) mayBeNumber.delete(path);
    await nextTurn();
  }
}

/** A rule has few conditions, so what names more schemas or paths is refused anyway: what is beyond goes unasked. */
const SCHEMAS_MAX = CONDITIONS_MAX;
const QUESTIONS_MAX = 2 * CONDITIONS_MAX;
/** Objects and lists: on each level of a condition a list and what is in it, and those of the condition itself. */
const PARTS_MAX = CONDITIONS_MAX * (2 * DEPTH_MAX + 8);
/** No event is deeper. */
const NAMES_MAX = 64;

/** By schema, in whatever was sent: it is checked afterwards. */
function questionsIn(given: unknown): ReadonlyMap<string, Questions> {
  const found = new Map<string, Questions>();
  let count = 0;
  const note = (paths: Set<string>, path: unknown): void => {
    if (typeof path !== "string" || count === QUESTIONS_MAX) return;
    if (path.split(".", NAMES_MAX + 1).length > NAMES_MAX) return;
    count += 1;
    paths.add(path);
  };
  const left: unknown[] = [given];
  for (const one of left) {
    if (typeof one !== "object" || one === null) continue;
    const { schema_id: id, where, sum } = one as Readonly<Record<string, unknown>>;
    if (typeof id === "string" && (found.has(id) || found.size < SCHEMAS_MAX)) {
      const questions = found.get(id) ?? { declares: new Set(), mayBeNumber: new Set() };
      found.set(id, questions);
      const names = typeof where === "object" && where !== null ? Object.keys(where) : [];
      // The others are operators.
      for (const name of names) if (!name.startsWith("$")) note(questions.declares, name);
      note(questions.declares, sum);
      note(questions.mayBeNumber, sum);
    }
    for (const held of (Array.isArray(one) ? one : Object.values(one)) as readonly unknown[]) {
      if (left.length === PARTS_MAX) break;
      if (typeof held === "object") left.push(held);
    }
  }
  return found;
}
