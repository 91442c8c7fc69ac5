import assert from "node:assert/strict";
import { at, listAt, textAt } from "../service/app.js";
import { isShared } from "../trust/assertions.js";
import { identifierOfName, nameOf, pairName, type Name } from "../trust/model.js";
import { audiencesOf } from "./audiences/model.js";
import { ask, bind, nameIn, pages, showDropped, type Bench } from "./bench.js";
import { effectiveOf, type ShownProfile } from "./profile.js";
import type { RuleEvent } from "./rule.js";
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

/** Computes it, and compares members, links, ids and events with it. `listed`: the profiles as they are listed. */
export async function standsIn(bench: Bench, listed: readonly ShownProfile[]): Promise<Rest> {
  const placeOf = await checkGraphs(bench, listed);
  const receivedAt = await checkEvents(bench, placeOf);
  return { placeOf, receivedAt, profiles: expectProfiles(bench, placeOf, receivedAt) };
}

export const listProfiles = async (bench: Bench): Promise<readonly ShownProfile[]> =>
  (await pages(bench, "/v1/profiles", "profiles", 3)) as readonly ShownProfile[];

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
  bench: Bench,
  placeOf: ReadonlyMap<Name, Placed>,
  receivedAt: ReceivedAt,
): readonly ShownProfile[] {
  const { truth } = bench;
  const byUid = (a: Name, b: Name): number => (placeOf.get(a)!.uid < placeOf.get(b)!.uid ? -1 : 1);
  const shown = componentsOf(truth).map((members): ShownProfile => {
    const sorted = members.toSorted(byUid);
    const { traits, first_seen, last_seen, event_count } = profileOf(truth, members, receivedAt);
    const shared = sorted.filter((name) => isShared(truth.trust, name)).map(identifierOfName);
    const profile = {
      profile_id: placeOf.get(sorted[0]!)!.uid,
      identifiers: sorted.map(identifierOfName),
      traits,
      audiences: [],
      first_seen,
      last_seen,
      event_count,
      ...(shared.length > 0 && { shared_identifiers: shared }),
    };
    const looked = { profile, events: ruleEvents(bench, profile, receivedAt), now: nowOf(truth) };
    return { ...profile, audiences: audiencesOf(truth.audiences, looked) };
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

/** Its events that are not gone. */
export const standing = ({ truth }: Bench, { identifiers }: ShownProfile): readonly TrueEvent[] =>
  eventsOf(truth, identifiers.map(nameOf)).filter(({ eventId }) => !truth.gone.has(eventId));

/** The same as a rule sees them. */
export const ruleEvents = (bench: Bench, profile: ShownProfile, receivedAt: ReceivedAt): readonly RuleEvent[] =>
  standing(bench, profile).map((event) => ({
    schemaId: event.schemaId,
    at: effectiveOf(saidBy(event, receivedAt)),
    payload: event.payload,
  }));
