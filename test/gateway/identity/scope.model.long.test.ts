import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Identifier } from "../../../core/event/event.js";
import { createRandom, runsOf, SEED, tell, type Random } from "../../support/random/random.js";
import { sendSdk } from "../../support/sdk/client.js";
import { createOracle, namespaceOf, ORDER, PERSONS, type Item } from "../../support/sdk/scope-oracle.js";
import { listAt, submission, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

/** 1,000 with SCALE=8. */
const SEQUENCES = runsOf(125);
const AT_ONCE = 20;
const CALLS_MAX = 8;

/** A call of a client with a collect-only key, and what it says. A refused call says nothing. */
interface Call {
  readonly shows: string;
  readonly items: readonly Item[];
  readonly make: (client: Client) => Promise<void>;
}
interface Client {
  readonly workspace: TestWorkspace;
  readonly schemaId: string;
  /** With the collect-only key. */
  readonly post: (target: string, body: unknown, status: number, headers?: object) => Promise<void>;
  /** As an SDK does. */
  readonly sdk: (target: string, body: object) => Promise<void>;
}

const identifierOf = (name: string): Identifier => ({
  namespace: namespaceOf(name),
  value: name.slice(name.indexOf(":") + 1),
});
const payloadOf = (item: Item) =>
  Object.fromEntries(
    ORDER.map((namespace) => [
      namespace,
      item.filter((name) => namespaceOf(name) === namespace).map((name) => identifierOf(name).value),
    ]),
  );
const schema = {
  type: "object",
  properties: Object.fromEntries(
    ORDER.map((namespace) => [namespace, { type: "array", items: { type: "string", "x-identity": { namespace } } }]),
  ),
};

let messages = 0;
const valueOf = (name: string): string => identifierOf(name).value;

/** What the dialect has a member for goes there, and the rest into `externalIds`. */
function messageOf(type: string, item: Item): object {
  const [user, anonymous, email] = ["user_id", "anonymous_id", ...(type === "group" ? [] : ["email"])].map(
    (namespace) => item.find((name) => namespaceOf(name) === namespace),
  );
  const others = item.filter((name) => ![user, anonymous, email].includes(name));
  const traits = { ...(email !== undefined && { email: valueOf(email) }) };
  return {
    type,
    messageId: `message ${(messages += 1)}`,
    ...(user !== undefined && { userId: valueOf(user) }),
    ...(anonymous !== undefined && { anonymousId: valueOf(anonymous) }),
    ...(type === "identify" && { traits }),
    context: {
      ...(type !== "identify" && { traits }),
      externalIds: others.map((name) => ({ type: namespaceOf(name), id: valueOf(name) })),
    },
  };
}

interface Message {
  readonly item: Item;
  readonly message: object;
}
const SDK_TYPES = ["track", "page", "screen", "identify", "group"] as const;
const SDK_PATHS = {
  track: "/v1/t",
  page: "/v1/page",
  screen: "/v1/s",
  identify: "/v1/identify",
  group: "/v1/g",
} as const;

/** A previous side that is a person, here a customer, is left out; the others are anonymous. */
function drawAlias({ some, customers }: Draw, random: Random): Message {
  const anonymous = some().filter((name) => namespaceOf(name) === "anonymous_id");
  const previous = random.pick([...customers.map(([user]) => user!), ...anonymous]);
  const known = random.pick([
    ...customers.map(([user]) => user!),
    ...some().filter((name) => namespaceOf(name) === "user_id"),
  ]);
  const message = {
    type: "alias",
    messageId: `message ${(messages += 1)}`,
    previousId: valueOf(previous),
    userId: valueOf(known),
  };
  return { item: namespaceOf(previous) === "user_id" ? [known] : [previous, known], message };
}
function drawMessage(draw: Draw, random: Random): Message {
  if (random.below(5) === 0) return drawAlias(draw, random);
  const item = draw.some();
  return { item, message: messageOf(random.pick(SDK_TYPES), item) };
}

/** What a call may name. */
interface Draw {
  readonly some: () => Item;
  readonly customers: readonly Item[];
}

/** Everything that a client can call with such a key. Another door adds a line. */
const CALLS: readonly ((draw: Draw, random: Random) => Call)[] = [
  ({ some }) => {
    const item = some();
    return {
      shows: `collect ${item.join(" ")}`,
      items: [item],
      make: ({ post, schemaId }) => post("/v1/collect", submission(schemaId, payloadOf(item)), 202),
    };
  },
  ({ some }, random) => {
    const item = some();
    const headers = { "Idempotency-Key": `${item.join()} ${random.below(1_000_000)}` };
    return {
      shows: `collect twice ${item.join(" ")}`,
      items: [item],
      make: async ({ post, schemaId }) => {
        const event = submission(schemaId, payloadOf(item));
        await post("/v1/collect", event, 202, headers);
        await post("/v1/collect", event, 202, headers);
      },
    };
  },
  ({ some }, random) => {
    const items = Array.from({ length: 1 + random.below(4) }, some);
    return {
      shows: `batch ${items.map((item) => item.join(" ")).join(", then ")}`,
      items,
      make: ({ post, schemaId }) =>
        post("/v1/collect/batch", { events: items.map((item) => submission(schemaId, payloadOf(item))) }, 202),
    };
  },
  ({ some }) => {
    const identifiers = some().map(identifierOf);
    return { shows: "identify", items: [], make: ({ post }) => post("/v1/identify", { identifiers }, 403) };
  },
  ({ some }) => {
    const [anonymous, known] = [...some(), ...some()].map(identifierOf);
    return { shows: "alias", items: [], make: ({ post }) => post("/v1/alias", { anonymous, known }, 403) };
  },
  ({ some }, random) => {
    const item = some();
    const type = random.pick(SDK_TYPES);
    return {
      shows: `SDK ${type} ${item.join(" ")}`,
      items: [item],
      make: ({ sdk }) => sdk(SDK_PATHS[type], messageOf(type, item)),
    };
  },
  (draw, random) => {
    const { item, message } = drawAlias(draw, random);
    return { shows: `SDK ${JSON.stringify(message)}`, items: [item], make: ({ sdk }) => sdk("/v1/alias", message) };
  },
  (draw, random) => {
    const sent = Array.from({ length: 1 + random.below(4) }, () => drawMessage(draw, random));
    const batch = sent.map(({ message }) => message);
    return {
      shows: `SDK ${JSON.stringify(batch)}`,
      items: sent.map(({ item }) => item),
      make: ({ sdk }) => sdk("/v1/batch", { batch }),
    };
  },
];

interface Sequence {
  readonly customers: readonly Item[];
  readonly calls: readonly Call[];
}

/** Customers that a backend knows, and calls that name them, their things, and what nobody has seen. */
function drawSequence(random: Random, number: number): Sequence {
  const name = (namespace: string, value: string): string =>
    `${namespace}:s${number}-${value}${namespace === "email" ? "@example.com" : ""}`;
  const customers = ["ann", "bob", "eve"].map((who, n): Item => [
    name("user_id", who),
    ...(random.below(2) === 0 ? [name("email", who)] : []),
    ...(random.below(2) === 0 ? [name(random.pick(["device_id", "anonymous_id", "cookie_id"]), `own-${n}`)] : []),
  ]);
  const pool = [
    ...customers.flat(),
    ...["ann", "bob", "eve", "new"].flatMap((who) => [name("user_id", who), name("email", who)]),
    ...["tab", "box"].map((value) => name("device_id", value)),
    ...["1", "2", "3"].flatMap((value) => [name("cookie_id", value), name("anonymous_id", value)]),
  ];
  const some = (): Item => Array.from({ length: 1 + random.below(4) }, () => random.pick(pool));
  return {
    customers,
    calls: Array.from({ length: 1 + random.below(CALLS_MAX) }, () => random.pick(CALLS)({ some, customers }, random)),
  };
}

const sortedSets = (sets: readonly Iterable<string>[]): readonly string[] =>
  sets.map((names) => [...names].toSorted().join(" ")).toSorted();

describe("With a collect-only key", () => {
  const app = useApp();
  let client: Client;
  before(async () => {
    const workspace = await app().workspace();
    const key = await workspace.key("collect");
    client = {
      workspace,
      schemaId: await workspace.schema(schema),
      sdk: async (target, body) => {
        const answer = await sendSdk(app(), target, { key, body });
        assert.equal(answer.status, 200, `${target}: ${answer.text}`);
        assert.deepEqual(listAt(answer.body, "rejected"), [], answer.text);
      },
      post: async (target, body, status, headers = {}) => {
        const answer = await app().send("POST", target, { key, body, headers: { ...headers } });
        assert.equal(answer.status, status, `${target}: ${answer.text}`);
      },
    };
  });

  const play = async ({ customers, calls }: Sequence): Promise<void> => {
    await Promise.all(
      customers.map((names) => client.workspace.send("POST", "/v1/identify", { identifiers: names.map(identifierOf) })),
    );
    for (const call of calls) await call.make(client);
  };

  /** The profiles of those names, as sets of names. */
  const profilesOf = async (names: readonly string[]): Promise<readonly (readonly string[])[]> => {
    const { body } = await client.workspace.send("POST", "/v1/profiles/lookup", {
      identifiers: names.map(identifierOf),
    });
    return listAt(body, "profiles").map((profile) =>
      listAt(profile, "identifiers").map((one) => `${textAt(one, "namespace")}:${textAt(one, "value")}`),
    );
  };

  const check = async ({ customers, calls }: Sequence): Promise<void> => {
    const oracle = createOracle(customers);
    const items = calls.flatMap((call) => call.items);
    for (const item of items) oracle.hear(item);
    const profiles = await profilesOf([...new Set([...customers, ...items].flat())]);
    const shown = [...customers.map((names) => `customer ${names.join(" ")}`), ...calls.map(({ shows }) => shows)];
    const values = (profile: readonly string[], namespace: string) =>
      profile.filter((name) => namespaceOf(name) === namespace);
    for (const profile of profiles)
      for (const namespace of PERSONS)
        assert.ok(values(profile, namespace).length <= 1, [...shown, "joins", ...profile].join("\n"));
    assert.deepEqual(sortedSets(profiles), sortedSets(oracle.people), shown.join("\n"));
  };

  const allOf = async (sequences: readonly Sequence[], work: (sequence: Sequence) => Promise<void>): Promise<void> => {
    const waiting = [...sequences];
    const worker = async (): Promise<void> => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await work(next);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  };

  it(`no sequence of calls of any client joins two customers: ${SEQUENCES} random ones against the oracle (seed ${SEED})`, async function () {
    this.timeout(300_000);
    const random = createRandom(SEED);
    const sequences = Array.from({ length: SEQUENCES }, (_, number) => drawSequence(random, number));
    await allOf(sequences, play);
    while ((await app().service.backends.queue.depth()) > 0) await sleep(20);
    await allOf(sequences, check);
    tell(`${sequences.flatMap(({ calls }) => calls).length} calls`);
  });
});
