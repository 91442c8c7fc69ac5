import type { SchemaVersion } from "../../core/catalog/catalog.js";
import { plannedEvent, type SdkCatalog, type Violations } from "../../core/catalog/sdk.js";
import { ERRORS_MAX, isTooExpensive, type ErrorItem } from "../../core/errors.js";
import type { DroppedIdentifier, EventRecord, Identifier } from "../../core/event/event.js";
import { shortened } from "../../core/event/notes.js";
import { boundedPlaces, outermostOf } from "../../core/event/places.js";
import {
  admit,
  namespaceTable,
  placesOf,
  type Admission,
  type GivenIdentifier,
} from "../../core/identity/namespaces.js";
import { extract, type Extract } from "../../core/schema/extract.js";
import type { SdkItem } from "../../core/sdk/item.js";
import { omitProperties, type Omitted } from "../../core/sdk/omit.js";
import { rememberedTraits } from "../../core/sdk/own-traits.js";
import { builtInSchema, isReserved, sdkSchemaId } from "../../core/sdk/schemas.js";
import { beyondItem, recordOf, scopedFor } from "../acceptance/judge.js";
import { leaveTraitsOut } from "../acceptance/open-traits.js";
import type { Caller, Services } from "../services.js";

export type ItemServices = Pick<Services, "catalog" | "validator" | "limits" | "identity">;

/** The identifiers of an item as the dialect has decided them. */
export interface Sides {
  readonly named: readonly GivenIdentifier[];
  readonly dropped: readonly DroppedIdentifier[];
}

/** The item is not to be an event, for these reasons. */
export class Quarantining extends Error {
  readonly errors: readonly ErrorItem[];
  constructor(errors: readonly ErrorItem[]) {
    super("The item belongs into quarantine.");
    this.errors = errors;
  }
}

/**
 * The event of an item, by the plan and the settings of the workspace: what is wrong with it is in its notes. Throws `Quarantining` for one
 * that is not to be an event.
 */
export async function judgeItem(
  services: ItemServices,
  caller: Caller,
  sdk: SdkCatalog,
  item: SdkItem,
  { named, dropped }: Sides,
): Promise<EventRecord> {
  const { schema, policy, marks } = await planOf(services, caller, sdk, item);
  const judged = await judgePayload(services, schema, item, policy);
  const found = extract(services.validator.plan(schema), judged.payload, judged.bytes);
  const admitted = await admitSome(services, caller, found, named);
  const violations = [...judged.errors, ...admitted.errors];
  if (violations.length > 0 && policy === "quarantine") throw new Quarantining(violations);
  const remembered = rememberedTraits(judged.payload, admitted.found.traits);
  const said = admitted.found.traits.filter(({ path }) => !remembered.has(path));
  const bytes = judged.bytes.length;
  const left = await leaveTraitsOut(services, caller, { ...admitted.found, traits: said }, bytes);
  const unfolded = [...failing(admitted.found, judged.failing), ...remembered, ...(left?.unfolded ?? [])];
  const scoped = await scopedFor(services, caller, admitted);
  const notes = {
    countsMismatch: true,
    violations: shortened([...marks, ...violations, ...(left?.violations ?? [])], bytes),
    unfolded: boundedPlaces(unfolded, bytes),
    verdict: null,
  };
  const candidate = { ...item, schemaId: schema.schemaId, bytes: judged.bytes, named };
  const folds = await services.catalog.isUnified(caller.workspace, schema.schemaId);
  const sides = { identifiers: scoped.identifiers, dropped: [...dropped, ...scoped.dropped] };
  return recordOf(caller, candidate, schema, folds, sides, notes);
}

const NOT_PLANNED: ErrorItem = { path: "event", message: "is not in the plan" };

interface Planned {
  readonly schema: SchemaVersion;
  readonly policy: Violations;
  readonly marks: readonly ErrorItem[];
}

/** The plan is about what `track` names; all other calls have the built-in schemas. */
async function planOf(
  { catalog }: Pick<Services, "catalog">,
  { workspace }: Pick<Caller, "workspace">,
  { settings, plan }: SdkCatalog,
  { type, name }: SdkItem,
): Promise<Planned> {
  const planned = type === "track" && name !== null ? plannedEvent(plan, name) : null;
  const policy = planned?.violations ?? settings.violations;
  const schemaId = planned?.schemaId ?? null;
  const own = schemaId === null ? null : await catalog.findSchema(workspace, schemaId, null);
  if (own !== null) return { schema: own, policy, marks: [] };
  const schema = builtInSchema(sdkSchemaId(type), null)!;
  const unplanned = type === "track" ? (planned?.unplanned ?? settings.unplanned) : "accept";
  if (unplanned === "quarantine") throw new Quarantining([NOT_PLANNED]);
  return { schema, policy, marks: unplanned === "mark" ? [NOT_PLANNED] : [] };
}

interface Judged extends Omitted {
  /** What was wrong with the item as it was sent, and with what is left of it. */
  readonly errors: readonly ErrorItem[];
  /** What is wrong with what is stored. */
  readonly failing: readonly ErrorItem[];
}

async function judgePayload(
  { validator }: Pick<Services, "validator">,
  schema: SchemaVersion,
  { payload, bytes }: SdkItem,
  policy: Violations,
): Promise<Judged> {
  const isBuiltIn = isReserved(schema.schemaId);
  const errorsOf = async (one: Omitted): Promise<readonly ErrorItem[]> => {
    const first = await validator.check(schema, one.payload, one.bytes);
    // A built-in schema asks for little: its first problem says enough, and its workspaces must not wait for each other in the thread.
    if (first.length === 0 || isBuiltIn) return first;
    return validator.checkAll(schema, one.bytes, policy === "omit" ? OMITTED_MAX : ERRORS_MAX);
  };
  const sent = { payload, bytes };
  const errors = await errorsOf(sent);
  if (errors.length > 0 && policy === "quarantine") throw new Quarantining(errors);
  const told = new Map(errors.map((one) => [`${one.path}\n${one.message}`, one]));
  let [stored, failing]: [Omitted, typeof errors] = [sent, errors];
  // What is wrong after a round may be so only without what it took: once, except where one problem at a time is told, of a few.
  for (let rounds = policy !== "omit" ? 0 : isBuiltIn ? 5 : 1; rounds > 0 && failing.length > 0; rounds -= 1) {
    const omitted = omitProperties(stored.bytes, failing);
    if (omitted === null) break;
    [stored, failing] = [omitted, await errorsOf(omitted)];
    for (const one of failing) told.set(`${one.path}\n${one.message}`, one);
  }
  return { ...stored, errors: [...told.values()], failing };
}
/** What is wrong beyond so many problems is only marked. */
const OMITTED_MAX = 1_000;

/** The places of problems that traits are at or below. */
function failing({ traits }: Extract, errors: readonly ErrorItem[]): readonly string[] {
  if (errors.length === 0) return [];
  const outermost = outermostOf(errors.map(({ path }) => path));
  return traits.flatMap(({ path }) => outermost(path) ?? []);
}

interface AdmittedSome extends Pick<Admission, "identifiers" | "dropped" | "errors"> {
  readonly found: Extract;
}

/** What cannot be an identifier is left out and named: one bad value must not cost the event. */
async function admitSome(
  services: ItemServices,
  caller: Caller,
  found: Extract,
  named: readonly GivenIdentifier[],
): Promise<AdmittedSome> {
  const { identifiersMax } = services.limits;
  const given = [...named, ...found.identifiers];
  const errors: ErrorItem[] = [...found.refused];
  if (given.length === 0) return { identifiers: [], dropped: [], errors, found };
  const table = namespaceTable(await services.catalog.namespaces(caller.workspace));
  const admitted = admit(given, table);
  errors.push(...admitted.errors);
  const unknown = await unknownAfter(services, caller, admitted);
  errors.push(...unknown);
  const names = new Set(unknown.length === 0 ? [] : admitted.unregistered.map(({ namespace }) => namespace.name));
  const known = admitted.identifiers.filter(({ namespace }) => !names.has(namespace));
  if (known.length > identifiersMax) {
    const beyond = new Set(known.slice(identifiersMax).map(nameOf));
    const places = placesOf(given, table).filter(({ identifier }) => beyond.has(nameOf(identifier)));
    errors.push(...places.map(beyondItem(identifiersMax)));
  }
  return { identifiers: known.slice(0, identifiersMax), dropped: admitted.dropped, errors, found };
}

const nameOf = ({ namespace, value }: Identifier): string => `${namespace}:${value}`;

/** Notes which namespaces are named for the first time. Where the key may not add them, or the workspace has no room, a problem for each. */
async function unknownAfter(
  { catalog, limits: { namespacesMax } }: ItemServices,
  { workspace, send }: Caller,
  { unregistered, unused }: Admission,
): Promise<readonly ErrorItem[]> {
  if (unused.length > 0) await catalog.registerNamespaces(workspace, unused, namespacesMax);
  if (unregistered.length === 0) return [];
  const mayAdd = send !== "collect" || (await catalog.identitySettings(workspace)).sendingKeysAddNamespaces;
  // Whoever has a public key could otherwise use up the names of all other keys: no name goes again.
  const max = send === "collect" ? Math.floor(namespacesMax / 2) : namespacesMax;
  const added = unregistered.map(({ namespace }) => namespace);
  if (mayAdd && (await catalog.registerNamespaces(workspace, added, max))) return [];
  const names = send === "collect" ? "up to which collect-only keys may create more" : "that a workspace may create";
  const why = mayAdd
    ? `would exceed the ${max} namespaces ${names} by first use`
    : "does not exist, and a collect-only key may not add it";
  return unregistered.map(({ path, namespace }) => ({ path, message: `namespace ${namespace.name} ${why}` }));
}

/** An error that says something about the item, and nothing about the service. */
export function errorsOfItem(error: unknown): readonly ErrorItem[] {
  if (error instanceof Quarantining) return error.errors;
  if (isTooExpensive(error)) return error.errors!.map(({ message }) => ({ path: "", message }));
  throw error;
}
