import type { Http } from "../../client/http.js";
import type { Identifier } from "../../core/event/event.js";
import { admit, type Admission, type GivenIdentifier, type NamespaceTable } from "../../core/identity/namespaces.js";
import type { KeyId, WorkspaceId } from "../../core/ids.js";
import { extract } from "../../core/schema/extract.js";
import { compilePlan } from "../../core/schema/plan.js";
import { openEnvelope } from "../../core/sdk/envelope.js";
import type { SdkIdentifierSwitches } from "../../core/sdk/item.js";
import { mapItems } from "../../core/sdk/map.js";
import { read } from "../command.js";
import { LOOKUP_MAX, storedOf, tableOf } from "./aliases.js";
import { batchesOf, type Batch, type Target } from "./batches.js";
import type { Found } from "./item.js";
import { createMerges, type Merges } from "./merges.js";

interface Remark {
  readonly place: string;
  readonly message: string;
}

/** What an import would do, as far as it can be known before. */
export interface Survey {
  items: number;
  readonly types: Record<string, number>;
  first: string | null;
  last: string | null;
  identifiers: Readonly<Record<string, number>>;
  /** Identifiers that are blocked or no such thing. */
  dropped: number;
  readonly limits: Readonly<Record<string, number>>;
  refusedMerges: number;
  /** What cannot be sent, and stays behind. */
  unreadable: number;
  /** What the service would refuse, or keep in quarantine, of the first `checked` items. */
  unfit: number;
  checked: number;
  isPartial: boolean;
  /** The first of each kind. */
  readonly remarks: Remark[];
}

const REMARKS_MAX = 10;
/** Of a request that only checks. */
const CHECKED_MAX = 60;
/** The service's own; a smaller one there is told when the item comes. */
const ITEM_BYTES_MAX = 262_144;
const DEPTH_MAX = 64;
/** An event's id depends on them, and nobody looks at it here. */
const NO_WORKSPACE = "00000000-0000-0000-0000-000000000000" as WorkspaceId;
const NO_SENDER = "" as KeyId;

interface Examined {
  readonly place: string;
  readonly type: string;
  readonly at: string | null;
  readonly given: readonly GivenIdentifier[];
  /** Of an alias. */
  readonly previous: string | null;
}

interface Reader {
  readonly table: NamespaceTable;
  readonly merges: Merges;
  readonly switches: SdkIdentifierSwitches;
  /** Of events, by their schema. */
  readonly identifiersIn: (payload: unknown) => readonly GivenIdentifier[];
}

/** Reads everything and stores nothing. `onBatch` is told how much was read. */
export async function surveyOf(
  http: Http,
  found: AsyncIterable<Found>,
  target: Target,
  schema: unknown,
  onBatch: (items: number) => void,
): Promise<Survey> {
  const reader = await readerOf(http, schema);
  const { merges, table } = reader;
  const limits = Object.fromEntries(limitsOf(table));
  const survey = emptySurvey(limits);
  const remark = (place: string, message: string): void => {
    if (survey.remarks.length < REMARKS_MAX) survey.remarks.push({ place, message });
  };
  const onProblem = ({ place, message }: Remark): void => {
    survey.unreadable += 1;
    remark(place, message);
  };
  for await (const batch of batchesOf(found, target, onProblem)) {
    const reject = (place: string, message: string): void => {
      survey.unfit += 1;
      remark(place, message);
    };
    if (target.member === "batch") survey.checked += batch.items.length;
    else if (survey.items === 0) survey.checked = await checkFirst(http, batch, reject);
    const examined = target.member === "batch" ? examineCalls(batch, reader, reject) : examineEvents(batch, reader);
    const admitted = admitEach(examined, reader);
    if (Object.keys(limits).length > 0)
      await knowProfiles(
        http,
        merges,
        admitted.flatMap((one) => one.identifiers),
      );
    for (const [at, one] of examined.entries()) {
      const { identifiers, dropped } = admitted[at]!;
      survey.dropped += dropped.length;
      survey.types[one.type] = (survey.types[one.type] ?? 0) + 1;
      if (one.at !== null && (survey.first === null || one.at < survey.first)) survey.first = one.at;
      if (one.at !== null && (survey.last === null || one.at > survey.last)) survey.last = one.at;
      const refused = merges.assert(identifiers);
      if (refused.length > 0) survey.refusedMerges += 1;
      for (const { identifier, apartFrom } of refused)
        remark(one.place, `a limit keeps ${nameOf(identifier)} apart from ${nameOf(apartFrom)}`);
    }
    survey.items += batch.items.length;
    onBatch(survey.items);
  }
  survey.identifiers = Object.fromEntries(merges.counts);
  survey.isPartial = merges.isPartial();
  return survey;
}

const emptySurvey = (limits: Survey["limits"]): Survey => ({
  items: 0,
  types: {},
  first: null,
  last: null,
  identifiers: {},
  dropped: 0,
  limits,
  refusedMerges: 0,
  unreadable: 0,
  unfit: 0,
  checked: 0,
  isPartial: false,
  remarks: [],
});

const nameOf = ({ namespace, value }: Identifier): string => `${namespace}:${value}`;

async function readerOf(http: Http, schema: unknown): Promise<Reader> {
  const table = await tableOf(http);
  const settings = await read<Readonly<Record<string, boolean>>>(http, "/v1/sdk/settings");
  const plan = schema === null ? null : compilePlan(schema as object);
  return {
    table,
    merges: createMerges(limitsOf(table)),
    switches: {
      phone: settings["phone"] === true,
      deviceId: settings["device_id"] === true,
      advertisingId: settings["advertising_id"] === true,
    },
    identifiersIn: (payload) => (plan === null ? [] : extract(plan, payload, null).identifiers),
  };
}

const limitsOf = (table: NamespaceTable): ReadonlyMap<string, number> =>
  new Map([...table.values()].flatMap(({ name, limit }) => (limit === null ? [] : [[name, limit] as const])));

/** By the service's own rules: what it would take for an event, and whom it is about. */
function examineCalls(
  { items, body }: Batch,
  { switches }: Reader,
  reject: (place: string, message: string) => void,
): readonly Examined[] {
  const bytes = Buffer.from(body);
  const options = {
    workspace: NO_WORKSPACE,
    sender: NO_SENDER,
    now: Date.now(),
    receivedAt: "in_item",
    itemBytesMax: ITEM_BYTES_MAX,
    depthMax: DEPTH_MAX,
    switches,
    type: null,
  } as const;
  return [...mapItems(bytes, openEnvelope(bytes, true), options)].flatMap((one): readonly Examined[] => {
    if (one.kind === "unfit") {
      reject(items[one.index]!.place, one.errors.map(({ path, message }) => `${path} ${message}`.trim()).join("; "));
      return [];
    }
    const { index, type, timestamp: at, identifiers, alias } = one.item;
    return [{ place: items[index]!.place, type, at, given: identifiers, previous: alias?.previous ?? null }];
  });
}

/** What the service takes of each. The previous id of an alias is a user's if one of that id is known, or named by a call before it. */
function admitEach(examined: readonly Examined[], { merges, table }: Reader): readonly Admission[] {
  const named = new Set<string>();
  return examined.map(({ given, previous: value }) => {
    const [user] = value === null ? [] : storedOf([value], table);
    const isUser = user !== undefined && (named.has(user) || merges.isKnown({ namespace: "user_id", value: user }));
    const previous = { path: "previousId", namespace: isUser ? "user_id" : "anonymous_id" };
    const admitted = admit(value === null ? given : [...given, { ...previous, value }], table);
    for (const { namespace, value: id } of admitted.identifiers) if (namespace === "user_id") named.add(id);
    return admitted;
  });
}

const examineEvents = ({ items }: Batch, { identifiersIn }: Reader): readonly Examined[] =>
  items.map(({ place, text }) => {
    const {
      schema_id: type,
      timestamp: at,
      payload,
    } = JSON.parse(text) as {
      readonly schema_id: string;
      readonly timestamp: string;
      readonly payload: unknown;
    };
    return { place, type, at, given: identifiersIn(payload), previous: null };
  });

/** What the service says of the first events, to find a wrong column before everything is sent. Answers how many it checked. */
async function checkFirst(http: Http, { items }: Batch, reject: (place: string, message: string) => void) {
  const first = items.slice(0, CHECKED_MAX);
  // What is only checked has no key.
  const events = first.map(({ text }) => ({ ...(JSON.parse(text) as object), idempotency_key: undefined }));
  const path = "/v1/collect/batch?syncValidation=true";
  interface Result {
    readonly errors: readonly { readonly path: string; readonly message: string }[];
  }
  const { results } = await http<{ readonly results: readonly Result[] }>({
    method: "POST",
    path,
    body: { events },
    repeatable: true,
  });
  for (const [at, { errors }] of results.entries())
    if (errors.length > 0)
      reject(first[at]!.place, errors.map(({ path, message }) => `${path}: ${message}`).join("; "));
  return first.length;
}

/** Who of them the service knows already: a limit counts what is there. */
async function knowProfiles(http: Http, merges: Merges, identifiers: readonly Identifier[]): Promise<void> {
  const unknown = identifiers.filter((identifier) => !merges.isKnown(identifier));
  const once = [...new Map(unknown.map((identifier) => [nameOf(identifier), identifier])).values()];
  for (let at = 0; at < once.length; at += LOOKUP_MAX) {
    const asked = once.slice(at, at + LOOKUP_MAX);
    interface Found {
      readonly profiles: readonly { readonly identifiers: readonly Identifier[] }[];
    }
    const { profiles } = await read<Found>(http, "/v1/profiles/lookup", { identifiers: asked });
    for (const { identifiers: held } of profiles) merges.know(held);
  }
}
