import type { Identifier } from "../../core/event/event.js";
import { admit, namespaceTable, type GivenIdentifier } from "../../core/identity/namespaces.js";
import type { SchemaId, WorkspaceId } from "../../core/ids.js";
import { extract } from "../../core/schema/extract.js";
import type { Services } from "../services.js";

/** What was refused, as far as it can be read. */
export interface Refused {
  readonly schemaId: SchemaId | null;
  readonly payload: unknown;
  /** What the door itself found. */
  readonly named: readonly GivenIdentifier[];
}

/**
 * Whom something names that is to be no event: when that person is erased, it must be found. Finds what there is to find, however wrong
 * the rest is.
 */
export async function namedIn(
  { catalog, validator }: Pick<Services, "catalog" | "validator">,
  workspace: WorkspaceId,
  { schemaId, payload, named }: Refused,
): Promise<readonly Identifier[]> {
  const schema = schemaId === null ? null : await catalog.findSchema(workspace, schemaId, null);
  const found = schema === null ? [] : extract(validator.plan(schema), payload, null).identifiers;
  if (named.length + found.length === 0) return [];
  return admit([...named, ...found], namespaceTable(await catalog.namespaces(workspace))).identifiers;
}
