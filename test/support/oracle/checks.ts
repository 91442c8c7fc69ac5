import assert from "node:assert/strict";
import { at, listAt, textAt } from "../service/app.js";
import { isShared } from "../trust/assertions.js";
import { identifierOfName, nameOf, pairName, type Name } from "../trust/model.js";
import { ask, bind, nameIn, pages, postPages, showDropped, type Bench } from "./bench.js";
import { alignChanges } from "./changes.js";
import { IDENTIFIERS } from "./draw.js";
import { checkErasures } from "./erase.js";
import { SCHEMA_OF } from "./draw-rule.js";
import { effectiveOf, inOrder, type ShownProfile } from "./profile.js";
import { holds, type RuleEvent } from "./rule.js";
import { componentsOf, eventsOf, nowOf, profileOf, saidBy, type ReceivedAt, type TrueEvent } from "./truth.js";

/** The uid of an identifier, and the profile that it stands in. */
interface Placed {
  readonly uid: string;
  readonly profileId: string;
}

/** What stands, once nothing is under way: each profile as the truth computes it, with the ids that the service gave. */
export interface Rest {
  readonly profiles: readonly ShownProfile[];
  readonly placeOf: ReadonlyMap<Name, Placed>;
  readonly receivedAt: ReceivedAt;
}

/** Compares all that can be read with what must be true. Throws at the first difference. */
export async function checkAll(bench: Bench, rules: readonly object[]): Promise<void> {
  const listed = (await pages(bench, "/v1/profiles", "profiles", 3)) as readonly ShownProfile[];
  const placeOf = await checkGraphs(bench, listed);
  const receivedAt = await checkEvents(bench, placeOf);
  const rest = { placeOf, receivedAt, profiles: expectProfiles(bench, placeOf, receivedAt) };
  assert.deepEqual(listed, rest.profiles, "the list of profiles");
  await checkLookup(bench, rest);
  for (const profile of rest.profiles) await checkTimeline(bench, rest, profile);
  for (const rule of rules) await checkSearch(bench, rest, rule);
  for (const trait of ["city", "spent", "tags"]) await checkTop(bench, rest, trait);
  await checkLists(bench);
  await checkErasures(bench);
  await alignChanges(bench);
}

/** The members, links and ids of all profiles. Answers where each identifier stands. */
async function checkGraphs(bench: Bench, listed: readonly ShownProfile[]): Promise<ReadonlyMap<Name, Placed>> {
  const { trust } = bench.truth;
  const placeOf = new Map<Name, Placed>();
  const links: string[] = [];
  for (const { profile_id: profileId } of listed) {
    const { body } = await ask(bench, 200, "GET", `/v1/profiles/${profileId}/graph?limit=100`);
    const nodes = listAt(body, "nodes");
    const uids = nodes.map((node) => textAt(node, "uid"));
    assert.equal(profileId, uids.toSorted()[0], "the id of a profile is its smallest uid");
    for (const node of nodes) placeOf.set(nameIn(node), { uid: textAt(node, "uid"), profileId });
    const nameOfUid = new Map(nodes.map((node) => [textAt(node, "uid"), nameIn(node)]));
    for (const link of listAt(body, "links"))
      links.push(pairName([nameOfUid.get(textAt(link, "from"))!, nameOfUid.get(textAt(link, "to"))!]));
  }
  const active = [...trust.links].filter(([, { isActive }]) => isActive).map(([pair]) => pair);
  assert.deepEqual(links.toSorted(), active.toSorted(), "links");
  assert.deepEqual([...placeOf.keys()].toSorted(), [...trust.seen].toSorted(), "identifiers");
  if (bench.mode === "in_turn") for (const [name, { uid }] of placeOf) bind(bench, trust.uidOf(name), uid);
  return placeOf;
}

/** By the ids of now; in the list they are the oldest first. */
function expectProfiles(
  { truth }: Bench,
  placeOf: ReadonlyMap<Name, Placed>,
  receivedAt: ReceivedAt,
): readonly ShownProfile[] {
  const byUid = (a: Name, b: Name): number => (placeOf.get(a)!.uid < placeOf.get(b)!.uid ? -1 : 1);
  const shown = componentsOf(truth).map((members): ShownProfile => {
    const sorted = members.toSorted(byUid);
    const { traits, first_seen, last_seen, event_count } = profileOf(truth, members, receivedAt);
    const shared = sorted.filter((name) => isShared(truth.trust, name)).map(identifierOfName);
    return {
      profile_id: placeOf.get(sorted[0]!)!.uid,
      identifiers: sorted.map(identifierOfName),
      traits,
      audiences: [],
      first_seen,
      last_seen,
      event_count,
      ...(shared.length > 0 && { shared_identifiers: shared }),
    };
  });
  return shown.toSorted((a, b) => (a.profile_id < b.profile_id ? -1 : 1));
}

/** All that were accepted are there, as they were sent, and nothing else. Answers when each was received. */
async function checkEvents(bench: Bench, placeOf: ReadonlyMap<Name, Placed>): Promise<ReceivedAt> {
  const { truth } = bench;
  const listed = await pages(bench, "/v1/events?order=oldest", "events", 20);
  const times = new Map(listed.map((one) => [textAt(one, "event_id"), Date.parse(textAt(one, "received_at"))]));
  assert.equal(times.size, listed.length, "each event is listed once");
  assert.deepEqual([...times.keys()].toSorted(), [...truth.events.keys()].toSorted(), "accepted events");
  const received = [...times.values()];
  assert.deepEqual(
    received,
    received.toSorted((a, b) => a - b),
    "events in the order in which they were received",
  );
  for (const one of listed) {
    const event = truth.events.get(textAt(one, "event_id"))!;
    const at = times.get(event.eventId)!;
    const [from, to] = event.between;
    assert.ok(from - CLOCK_MS <= at && at <= to + CLOCK_MS, `received at ${at}, not within ${from} to ${to}`);
    assert.deepEqual(showEvent(one), expectEvent(bench, event, placeOf));
  }
  return (eventId) => times.get(eventId)!;
}

/** The clock of the service goes ahead of the machine's by a tick for each undo. */
const CLOCK_MS = 500;

const showEvent = (one: unknown) => ({
  status: at(one, "status"),
  schema: at(one, "schema_id"),
  timestamp: at(one, "timestamp"),
  payload: at(one, "payload"),
  reason: at(one, "reason"),
  profile: at(one, "profile_id"),
  dropped: showDropped(listAt(one, "dropped")),
});

function expectEvent(
  { truth }: Bench,
  event: TrueEvent,
  placeOf: ReadonlyMap<Name, Placed>,
): ReturnType<typeof showEvent> {
  if (truth.gone.has(event.eventId)) return { ...GONE, schema: event.schemaId, reason: truth.gone.get(event.eventId) };
  return {
    status: event.facet === null ? "stored" : "folded",
    schema: event.schemaId,
    timestamp: event.timestamp,
    payload: event.payload,
    reason: event.reason,
    profile: event.facet === null ? null : placeOf.get(event.facet)!.profileId,
    dropped: event.dropped.toSorted(),
  };
}

const GONE = { status: "dropped", timestamp: null, payload: null, profile: null, dropped: [] };

async function checkLookup(bench: Bench, { profiles, placeOf }: Rest): Promise<void> {
  const { body } = await ask(bench, 200, "POST", "/v1/profiles/lookup", { identifiers: IDENTIFIERS });
  const found = listAt(body, "profiles") as readonly (ShownProfile & { readonly matched: unknown })[];
  const expected = profiles.flatMap((profile) => {
    const matched = IDENTIFIERS.filter((one) => placeOf.get(nameOf(one))?.profileId === profile.profile_id);
    return matched.length === 0 ? [] : [{ ...profile, matched }];
  });
  const byId = (a: ShownProfile, b: ShownProfile): number => (a.profile_id < b.profile_id ? -1 : 1);
  assert.deepEqual(found.toSorted(byId), expected, "look-up");
  assert.deepEqual(
    listAt(body, "unknown"),
    IDENTIFIERS.filter((one) => !placeOf.has(nameOf(one))),
  );
}

/** Its events that are not gone. */
const standing = ({ truth }: Bench, { identifiers }: ShownProfile): readonly TrueEvent[] =>
  eventsOf(truth, identifiers.map(nameOf)).filter(({ eventId }) => !truth.gone.has(eventId));

/** Newest first. */
async function checkTimeline(bench: Bench, { receivedAt }: Rest, profile: ShownProfile): Promise<void> {
  const listed = await pages(bench, `/v1/profiles/${profile.profile_id}/events`, "events", 7);
  const order = (event: TrueEvent): string => `${effectiveOf(saidBy(event, receivedAt))} ${event.eventId}`;
  const expected = standing(bench, profile).toSorted((a, b) => (order(a) > order(b) ? -1 : 1));
  assert.deepEqual(
    listed.map((one) => textAt(one, "event_id")),
    expected.map(({ eventId }) => eventId),
    "timeline",
  );
}

/** The rule with the ids of this workspace. */
const ruleHere = ({ schemas }: Bench, rule: object): object =>
  JSON.parse(
    JSON.stringify(rule).replaceAll(SCHEMA_OF.act, schemas.act).replaceAll(SCHEMA_OF.note, schemas.note),
  ) as object;

async function checkSearch(bench: Bench, rest: Rest, drawn: object): Promise<void> {
  const rule = ruleHere(bench, drawn);
  const answers = await postPages(bench, "/v1/profiles/search", { rule, limit: 2 });
  const now = nowOf(bench.truth);
  const expected = rest.profiles.filter((profile) => {
    const events = standing(bench, profile).map((event): RuleEvent => ({
      schemaId: event.schemaId,
      at: effectiveOf(saidBy(event, rest.receivedAt)),
      payload: event.payload,
    }));
    return holds(rule, { profile, events, now });
  });
  bench.counts.add("search", expected.length === 0 ? "none" : expected.length < rest.profiles.length ? "some" : "all");
  const shown = JSON.stringify(rule);
  assert.deepEqual(
    answers.flatMap(({ body }) => listAt(body, "profiles")),
    expected,
    `search ${shown}`,
  );
  const counted = await postPages(bench, "/v1/profiles/count", { rule });
  assert.equal(
    counted.reduce((sum, { body }) => sum + Number(body["count"]), 0),
    expected.length,
    `count ${shown}`,
  );
}

async function checkTop(bench: Bench, { profiles }: Rest, trait: string): Promise<void> {
  const { body } = (await postPages(bench, "/v1/profiles/top", { trait, limit: 2 })).at(-1)!;
  const valueOf = ({ traits }: ShownProfile) => {
    const value = traits[trait];
    return (Array.isArray(value) ? value[0] : (value ?? null)) as string | number | null;
  };
  const ranked = profiles
    .filter((profile) => valueOf(profile) !== null)
    .toSorted((a, b) => inOrder(valueOf(b), valueOf(a)) || (a.profile_id < b.profile_id ? -1 : 1));
  assert.deepEqual([body["profiles"], body["exact"]], [ranked.slice(0, 2), true], `top ${trait}`);
}

async function checkLists(bench: Bench): Promise<void> {
  const { trust } = bench.truth;
  const pairs = await pages(bench, "/v1/identity/forbidden-pairs", "forbidden_pairs", 2);
  assert.deepEqual(
    pairs.map((one) => pairName([nameIn(at(one, "from")), nameIn(at(one, "to"))])).toSorted(),
    [...trust.forbiddenPairs.keys()].toSorted(),
    "forbidden pairs",
  );
  const shared = await pages(bench, "/v1/identity/shared-identifiers", "shared_identifiers", 2);
  assert.deepEqual(
    shared.map((one) => nameIn(at(one, "identifier") ?? one)).toSorted(),
    [...trust.sharedIdentifiers].filter((name) => isShared(trust, name)).toSorted(),
    "shared identifiers",
  );
}
