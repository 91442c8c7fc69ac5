import assert from "node:assert/strict";
import { createPartition, type Partition } from "../../scripts/shared/partition.js";
import { at, listAt, textAt, until, type Answer, type TestWorkspace } from "../support/service/app.js";
import { deploy, through, type Deployment } from "../support/service/deployment.js";
import { createRandom, SEED, tell, type Random } from "../support/random/random.js";
import { inGroups } from "../support/service/traffic.js";

interface Identifier {
  readonly namespace: string;
  readonly value: string;
}
interface Operation {
  readonly kind: "identify" | "alias" | "event";
  readonly identifiers: readonly Identifier[];
}
/** An answer that was given to an operation. */
interface Answered {
  readonly operation: Operation;
  readonly profileId: string;
}

const OPERATIONS = 5_000;
/** Of another round. */
const MORE = 1_500;
const EVENTS = 500;
const CLIENTS = 16;
/** Operations after which the server has planned every statement; their times say nothing about contention. */
const WARM_UP = 500;
const EVENT_CLIENTS = 2;
const READERS = 4;
const PERSONS = 250;
/** Each person has as many of each namespace. */
const NAMESPACES = ["user_id", "email", "device_id", "cookie_id"] as const;
const VALUES = 2;
/** One operation in so many names somebody else too, so that persons merge. */
const MIXED = 100;

const nameOf = ({ namespace, value }: Identifier): string => `${namespace}:${value}`;

function identifierOf(random: Random, person: number, namespace: string = random.pick(NAMESPACES)): Identifier {
  const value = `p${person}-${random.below(VALUES)}`;
  return { namespace, value: namespace === "email" ? `${value}@example.com` : value };
}

/** Different ones, mostly of one person. */
function severalOf(random: Random, count: number): readonly Identifier[] {
  const person = random.below(PERSONS);
  const found = new Map<string, Identifier>();
  while (found.size < count) {
    const isOther = random.below(MIXED) === 0;
    const identifier = identifierOf(random, isOther ? random.below(PERSONS) : person);
    found.set(nameOf(identifier), identifier);
  }
  return [...found.values()];
}

function operationOf(random: Random): Operation {
  if (random.below(4) === 0) return { kind: "alias", identifiers: severalOf(random, 2) };
  return { kind: "identify", identifiers: severalOf(random, 1 + random.below(3)) };
}

function eventOf(random: Random): Operation {
  const person = random.below(PERSONS);
  return {
    kind: "event",
    identifiers: [identifierOf(random, person, "email"), identifierOf(random, person, "cookie_id")],
  };
}

const quantile = (sorted: readonly number[], part: number): number => sorted[Math.floor(sorted.length * part)] ?? 0;

interface Round {
  readonly p50: number;
  readonly p99: number;
}

describe("16 clients over two gateways, with two workers", () => {
  const random = createRandom(SEED);
  const events = Array.from({ length: EVENTS }, () => eventOf(random));
  const operations: Operation[] = [];
  const truth: Partition = createPartition();
  const answered: Answered[] = [];
  /** By events: the profile that each was linked to at first. */
  const shown: Answered[] = [];
  const refused: string[] = [];
  let deployment: Deployment;
  let sides: readonly TestWorkspace[];
  let first: Round;

  const rootOf = ({ identifiers }: Operation): string => truth.find(nameOf(identifiers[0]!))!;
  const perform = async (operation: Operation, workspace: TestWorkspace): Promise<void> => {
    const { kind, identifiers } = operation;
    const body = kind === "alias" ? { anonymous: identifiers[0], known: identifiers[1] } : { identifiers };
    const answer = await workspace.send("POST", `/v1/${kind}`, body);
    if (answer.status === 200) answered.push({ operation, profileId: textAt(answer.body, "profile_id") });
    else refused.push(`${kind} ${answer.status} ${answer.text}`);
  };

  /** The times of identify in it, milliseconds. */
  async function runRound(count: number, warmUp: number): Promise<Round> {
    const planned = Array.from({ length: count }, () => operationOf(random));
    const times: number[] = [];
    const waiting = planned.entries();
    const client = async (side: TestWorkspace): Promise<void> => {
      for (const [turn, operation] of waiting) {
        const before = performance.now();
        await perform(operation, side);
        if (operation.kind === "identify" && turn >= warmUp) times.push(performance.now() - before);
      }
    };
    const began = performance.now();
    await Promise.all(Array.from({ length: CLIENTS }, (_, n) => client(sides[n % sides.length]!)));
    const rate = (1_000 * count) / (performance.now() - began);
    operations.push(...planned);
    for (const { identifiers } of planned) truth.join(identifiers.map(nameOf));
    times.sort((a, b) => a - b);
    const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)];
    tell(`identify p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${rate.toFixed(0)} operations a second`);
    return { p50, p99 };
  }

  const sendEvents = async (schemaId: string): Promise<readonly (readonly [string, Operation])[]> => {
    const accepted: (readonly [string, Operation])[] = [];
    await inGroups(events, EVENT_CLIENTS, async (event) => {
      const [email, cookie] = event.identifiers;
      const side = sides[accepted.length % sides.length]!;
      const answer = await side.collect(schemaId, { email: email!.value, cookie: cookie!.value });
      if (answer.status === 202) accepted.push([textAt(answer.body, "event_id"), event]);
      else refused.push(`event ${answer.status} ${answer.text}`);
    });
    return accepted;
  };

  before(async () => {
    deployment = await deploy({ gateways: 2, workers: 2 });
    const workspace = await deployment.workspace();
    sides = [workspace, await through(deployment.gateways[1]!, workspace)];
    const sending = sendEvents(await workspace.schema());
    first = await runRound(OPERATIONS, WARM_UP);
    await inGroups(await sending, CLIENTS, async ([eventId, operation]) => {
      const { body, text } = await workspace.settled(eventId);
      if (body["status"] === "folded") shown.push({ operation, profileId: textAt(body, "profile_id_then") });
      else refused.push(`event ${text}`);
    });
    for (const { identifiers } of events) truth.join(identifiers.map(nameOf));
  });
  after(() => deployment?.close());

  /** The names of all identifiers that share the profile, in order. */
  async function membersOf(workspace: TestWorkspace, profileId: string): Promise<readonly string[]> {
    const names: string[] = [];
    for (let query = "limit=100"; ;) {
      const { status, body, text } = await until(
        () => workspace.send("GET", `/v1/profiles/${profileId}/identifiers?${query}`),
        // A busy machine may take longer than the deadline of a read.
        (answer) => answer.status !== 503,
      );
      assert.equal(status, 200, text);
      names.push(...(listAt(body, "identifiers") as readonly Identifier[]).map(nameOf));
      if (body["next_cursor"] === null) return names.toSorted();
      query = `limit=100&cursor=${textAt(body, "next_cursor")}`;
    }
  }

  it("answers every identify and alias of 5,000 with 200: no deadlock and no conflict reaches a client", () => {
    assert.deepEqual(refused, []);
    assert.equal(answered.length, OPERATIONS);
  });

  it("answers identify at p99 within ten times its p50", async () => {
    let round = first;
    // Another process on this machine must not fail it.
    for (let more = 0; round.p99 > 10 * round.p50 && more < 2; more += 1) round = await runRound(MORE, 0);
    assert.ok(round.p99 <= 10 * round.p50, `p99 ${round.p99} ms, p50 ${round.p50} ms`);
    assert.deepEqual(refused, []);
  });

  it("ends with the partition of a union-find, in which every profile id that was ever answered names its profile", async () => {
    const wanted = new Map<string, string[]>();
    for (const name of truth.names().toSorted()) {
      const root = truth.find(name)!;
      wanted.set(root, [...(wanted.get(root) ?? []), name]);
    }
    const roots = new Map<string, string>();
    for (const { profileId, operation } of [...answered, ...shown]) {
      assert.equal(roots.get(profileId) ?? rootOf(operation), rootOf(operation), `${profileId}, seed ${SEED}`);
      roots.set(profileId, rootOf(operation));
    }
    tell(`${truth.names().length} identifiers, ${wanted.size} profiles, ${roots.size} profile ids answered`);
    await inGroups([...roots], READERS, async ([profileId, root]) => {
      assert.deepEqual(await membersOf(sides[0]!, profileId), wanted.get(root), `${profileId}, seed ${SEED}`);
    });
    assert.equal(new Set(roots.values()).size, wanted.size);
  });

  it("shows the same profiles through both gateways, one id for each", async () => {
    const identifiers = operations.slice(0, 50).map((operation) => operation.identifiers[0]!);
    const seen = await Promise.all(sides.map((side) => side.send("POST", "/v1/profiles/lookup", { identifiers })));
    const idsOf = ({ body }: Answer) => listAt(body, "profiles").map((profile) => at(profile, "profile_id"));
    const persons = new Set(operations.slice(0, 50).map(rootOf));
    for (const answer of seen) assert.equal(new Set(idsOf(answer)).size, persons.size, answer.text);
    assert.deepEqual(idsOf(seen[0]!), idsOf(seen[1]!));
  });
});
