import type { Random } from "../../shared/random.js";
import { FOLDING, STORED } from "../process/site.js";
import { batchOf, type BatchOperation } from "./batch.js";
import type { EventOperation, Identifier, Payload, Sendable } from "./event-operation.js";

export type { EventOperation, Identifier, Payload } from "./event-operation.js";

interface LinkOperation extends Sendable {
  readonly kind: "link";
}

export type Operation = EventOperation | LinkOperation;

/** One request: an operation, or several events. */
export type Sending = Operation | BatchOperation;

/** The next request of an endless plan: the same seed gives the same requests. */
export type Plan = () => Sending;

/** One identifier in so many for each operation of a person is somebody else's: few persons merge, however much each does. */
const OWN_PER_OPERATION = 13;
const RECENT_PERSONS = 40;
const TEXTS = ["plain", "Zürich 東京 🙂", "a\u0000b", "\u2028\\\"'$where", "__proto__", ""] as const;

/** Where the plan stands. */
interface Draw {
  readonly random: Random;
  readonly id: number;
  readonly site: number;
  readonly operationsPerPerson: number;
}

/** So many operations for each new person. */
export function createPlan(random: Random, sites: number, operationsPerPerson: number): Plan {
  let id = 0;
  const next = (site: number): Draw => ({ random, id: (id += 1), site, operationsPerPerson });
  return () => {
    const site = random.below(sites);
    const kind = random.below(100);
    if (kind < 15) return identify(next(site));
    if (kind < 25) return alias(next(site));
    if (kind < 29) return batchOf(random, site, () => event(next(site)));
    return event(next(site));
  };
}

/** Mostly one of the newest persons, so that their identifiers are linked while others come; now and then one from long ago. */
function personOf({ random, id, operationsPerPerson }: Draw): number {
  const newest = Math.floor(id / operationsPerPerson);
  return random.once(15) ? random.below(newest + 1) : Math.max(0, newest - random.below(RECENT_PERSONS));
}

const emailOf = (person: number): Identifier => ({ namespace: "email", value: `p${person}@example.com` });
const userOf = (person: number): Identifier => ({ namespace: "user_id", value: `u${person}` });
const crmOf = (person: number): Identifier => ({ namespace: "crm.id", value: `crm${person}` });
const cookieOf = (random: Random, person: number): Identifier => ({
  namespace: "cookie_id",
  value: `c${person}-${random.below(4)}`,
});

function anyOf(random: Random, person: number): Identifier {
  const kind = random.below(6);
  if (kind === 0) return userOf(person);
  if (kind === 1) return crmOf(person);
  return kind === 2 ? emailOf(person) : cookieOf(random, person);
}

/** Rarely of two persons: then their profiles merge. */
function someOf(draw: Draw, count: number): readonly Identifier[] {
  const { random, operationsPerPerson } = draw;
  const person = personOf(draw);
  const found = new Map<string, Identifier>();
  for (let turn = 0; turn < count; turn += 1) {
    const isOther = random.once(OWN_PER_OPERATION * operationsPerPerson);
    const identifier = anyOf(random, isOther ? personOf(draw) : person);
    found.set(`${identifier.namespace}:${identifier.value}`, identifier);
  }
  return [...found.values()];
}

function identify(draw: Draw): LinkOperation {
  const { random, id, site } = draw;
  const identifiers = someOf(draw, 1 + random.below(4));
  return { kind: "link", id, site, path: "/v1/identify", identifiers, body: JSON.stringify({ identifiers }) };
}

function alias(draw: Draw): LinkOperation {
  const { random, id, site } = draw;
  const person = personOf(draw);
  const [anonymous, known] = [cookieOf(random, person), random.once(2) ? userOf(person) : emailOf(person)];
  const body = JSON.stringify({ anonymous, known });
  return { kind: "link", id, site, path: "/v1/alias", identifiers: [anonymous, known], body };
}

function event(draw: Draw): EventOperation {
  const { random, id, site } = draw;
  const identifiers = random.once(30) ? [] : fieldable(someOf(draw, 1 + random.below(3)));
  const isUnified = !random.once(15);
  const schemaId = isUnified ? FOLDING : STORED;
  const payload = { ...payloadOf(random, id), ...fieldsOf(identifiers) };
  const second = random.below(86_400);
  const timestamp = new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
  const isKeyed = random.once(2);
  return {
    kind: "event",
    id,
    site,
    path: "/v1/collect",
    identifiers,
    schemaId,
    timestamp,
    payload,
    folds: isUnified && identifiers.length > 0,
    // The same text in other workspaces too, where it names other events.
    idempotencyKey: isKeyed ? `order ${Math.floor(id / 3)}-${id % 3 === site ? "x" : id}` : null,
    isSentTwice: isKeyed && random.once(10),
    body: JSON.stringify({ schema_id: schemaId, timestamp, payload }),
  };
}

function payloadOf(random: Random, id: number): Payload {
  return {
    op: id,
    ...(random.once(2) && { city: `city ${random.below(1_000)}` }),
    ...(random.once(3) && { source: `source ${random.below(1_000)}` }),
    ...(random.once(3) && { score: random.below(10_000) }),
    ...(random.once(3) && { floor: random.below(10_000) }),
    ...(random.once(2) && { amount: (random.below(2_000_000_000) - 1_000_000_000) / 10 ** random.below(7) }),
    ...(random.once(5) && { text: random.pick(TEXTS), nested: { "a.b": [{ $set: null, _bsontype: "x" }, 1.5, -0] } }),
    ...(random.once(200) && { filler: "x".repeat(20_000) }),
  };
}

/** An event has one field for each namespace, but for cookies a list. */
const fieldable = (identifiers: readonly Identifier[]): readonly Identifier[] =>
  identifiers.filter(
    ({ namespace }, index) =>
      namespace === "cookie_id" || identifiers.findIndex((other) => other.namespace === namespace) === index,
  );

function fieldsOf(identifiers: readonly Identifier[]): Readonly<Record<string, unknown>> {
  const cookies = identifiers.filter(({ namespace }) => namespace === "cookie_id").map(({ value }) => value);
  const value = (name: string): string | undefined => identifiers.find(({ namespace }) => namespace === name)?.value;
  return {
    user: value("user_id"),
    email: value("email"),
    crm: value("crm.id"),
    ...(cookies.length > 0 && { cookies }),
  };
}
