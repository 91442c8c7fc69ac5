import { setTimeout as sleep } from "node:timers/promises";
import type { Http } from "../../client/http.js";
import type { Namespace } from "../../core/catalog/catalog.js";
import type { Identifier } from "../../core/event/event.js";
import { admit, namespaceTable, type NamespaceTable } from "../../core/identity/namespaces.js";
import { extract } from "../../core/schema/extract.js";
import { compilePlan, type AnnotationPlan } from "../../core/schema/plan.js";
import { all, pages, read } from "../command.js";
import { CliError, EXIT } from "../fail.js";
import { awaitQueue, createQueueWatch, STALE_MS } from "../queue.js";
import type { Item } from "./item.js";
import { isObject, textOf, type JsonObject } from "./json-lines.js";

/** So many UUIDs take 90 MB, and more would fill the memory. */
const USERS_MAX = 1_000_000;

export interface AliasWaits {
  /** Until what the service accepted before is processed. Throws where that cannot be awaited. */
  readonly queue: () => Promise<void>;
  /** Until the service knows the users, or until what it accepted before is processed. */
  readonly users: (users: readonly string[]) => Promise<"known" | "processed">;
  readonly reader: () => Promise<UserReader>;
}

/** How the service finds users in a call. */
export interface UserReader {
  readonly table: NamespaceTable;
  /** By the name of a tracked event that has a schema of the workspace. */
  readonly plans: ReadonlyMap<unknown, AnnotationPlan>;
}

/**
 * When the service accepts an alias it decides for good what the previous id is, and does not see calls that still wait in its queue. So
 * what is answered hands on each batch when it may be sent: it waits if the batch has an alias of a user whom an earlier one may have made
 * known. Earlier calls of the same batch the service sees itself, but not whom a schema finds in them: there the batch is parted.
 */
export function createAliasOrder(
  waits: AliasWaits,
  usersMax: number = USERS_MAX,
): (items: readonly Item[]) => AsyncGenerator<readonly Item[]> {
  let reader: UserReader | null = null;
  /** Whom batches have named and nobody has waited for; null: anybody, as before the first one, when an earlier import may still wait. */
  let users: Set<string> | null = null;
  const allow = async (calls: readonly JsonObject[], { table, plans }: UserReader): Promise<void> => {
    const late = storedOf(previousOf(calls), table).filter((user) => users!.has(user));
    if (late.length > 0 && (await waits.users(late)) === "processed") users!.clear();
    for (const user of late) users!.delete(user);
    const named = calls.flatMap((call) => [...namedIn(call), ...plannedIn(call, plans)]);
    for (const user of storedOf(named, table)) users!.add(user);
  };
  return async function* (items) {
    const calls = items.map(({ text }) => JSON.parse(text) as unknown).map((call) => (isObject(call) ? call : {}));
    if (users === null) {
      if (previousOf(calls).length === 0) {
        yield items;
        return;
      }
      await waits.queue();
      users = new Set();
    }
    reader ??= await waits.reader();
    const starts = [0, ...partedAt(calls, reader)];
    for (const [n, start] of starts.entries()) {
      await allow(calls.slice(start, starts[n + 1]), reader);
      yield items.slice(start, starts[n + 1]);
    }
    if (users.size > usersMax) users = null;
  };
}

/** The aliases of a user whom a schema finds in a call before, and nobody has waited for. */
function partedAt(calls: readonly JsonObject[], { table, plans }: UserReader): readonly number[] {
  const planned = new Set<string>();
  return [...calls.entries()].flatMap(([n, call]) => {
    const isParted = storedOf(previousOf([call]), table).some((user) => planned.has(user));
    if (isParted) planned.clear();
    for (const user of storedOf(plannedIn(call, plans), table)) planned.add(user);
    return isParted ? [n] : [];
  });
}

const previousOf = (calls: readonly JsonObject[]): readonly string[] =>
  calls.flatMap((call) => (call["type"] === "alias" ? textsOf([call["previousId"]]) : []));

function namedIn(call: JsonObject): readonly string[] {
  const context = isObject(call["context"]) ? call["context"] : {};
  const lists: readonly unknown[] = [context["externalIds"], context["externalId"]];
  const external = lists.flatMap((list): readonly unknown[] => (Array.isArray(list) ? list : []));
  const ids = external.flatMap((one) => (isObject(one) && one["type"] === "user_id" ? [one["id"]] : []));
  return textsOf([call["userId"], ...ids]);
}

function plannedIn(call: JsonObject, plans: UserReader["plans"]): readonly string[] {
  const plan = call["type"] === "track" ? plans.get(call["event"]) : undefined;
  const planned = plan === undefined ? [] : extract(plan, call, null).identifiers.filter(isUser);
  return planned.map(({ value }) => value);
}

const isUser = ({ namespace }: Pick<Identifier, "namespace">): boolean => namespace === "user_id";
const textsOf = (values: readonly unknown[]): readonly string[] => values.map(textOf).filter((text) => text !== null);

/** Each user once, as the service would know them: it never knows what stands for nobody, nor half a character. */
export const storedOf = (values: readonly string[], table: NamespaceTable): readonly string[] =>
  admit(
    values.filter((value) => !HALF_CHARACTER.test(value)).map((value) => ({ path: "", namespace: "user_id", value })),
    table,
  ).identifiers.map(({ value }) => value);
const HALF_CHARACTER = /\p{Cs}/u;

/** Identifiers of a request. */
export const LOOKUP_MAX = 100;
/** Seconds of a request; it is answered as soon as all of its users are known. */
const WAIT = 2;

export const tableOf = async (http: Http): Promise<NamespaceTable> =>
  namespaceTable(await all(pages<Namespace>(http, "/v1/namespaces", "namespaces")));

export async function userReaderOf(http: Http): Promise<UserReader> {
  const { events } = await read<SdkPlan>(http, "/v1/sdk/plan");
  const ids = new Set(Object.values(events).flatMap((event) => event.schema_id ?? []));
  const found = new Map<string, AnnotationPlan>();
  for (const id of ids) {
    const { schema } = await read<{ readonly schema: object }>(http, `/v1/schemas/${encodeURIComponent(id)}`);
    found.set(id, compilePlan(schema));
  }
  const plans = new Map(
    Object.entries(events).flatMap(([name, { schema_id: id }]) => (id === null ? [] : [[name, found.get(id)!]])),
  );
  return { table: await tableOf(http), plans };
}
interface SdkPlan {
  readonly events: Readonly<Record<string, { readonly schema_id: string | null }>>;
}

/**
 * Waits until what the service accepted before is processed. Throws when for so long nothing was processed: nobody would notice what an
 * alias that was sent then links for good.
 */
export async function awaitEarlier(http: Http, waitMs: number, tell: (text: string) => void): Promise<void> {
  const late = await awaitQueue(http, { waitMs, unknownMs: waitMs }, tell);
  if (late !== null) throw new CliError(EXIT.unavailable, `${late}: ${WRONG}`);
}
const WRONG = "an alias of a user whom they name could link an anonymous_id in their place";

/**
 * Waits until the service knows the users, or has processed what it accepted before: a call that it refused makes nobody known. Throws
 * when for so long it got to know none of them, and nothing was processed.
 */
export async function awaitUsers(http: Http, users: readonly string[], waitMs: number): Promise<"known" | "processed"> {
  const look = createQueueWatch(http);
  let missing = await unknownOf(http, users);
  let foundAt = Date.now();
  while (missing.length > 0) {
    await sleep(STALE_MS);
    const { isDone, quietMs } = await look();
    if (isDone) return "processed";
    if (Math.min(quietMs, Date.now() - foundAt) >= waitMs) throw new CliError(EXIT.unavailable, LATE);
    const still = await unknownOf(http, missing);
    if (still.length < missing.length) foundAt = Date.now();
    missing = still;
  }
  return "known";
}
const LATE = "the next calls have an alias of a user whose own calls, sent before, still wait to be processed";

async function unknownOf(http: Http, users: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (let at = 0; at < users.length; at += LOOKUP_MAX) {
    const identifiers = users.slice(at, at + LOOKUP_MAX).map((value) => ({ namespace: "user_id", value }));
    const path = `/v1/profiles/lookup?wait=${WAIT}`;
    const { unknown } = await read<{ readonly unknown: readonly Identifier[] }>(http, path, { identifiers });
    found.push(...unknown.map(({ value }) => value));
  }
  return found;
}
