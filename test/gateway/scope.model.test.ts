import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Identifier } from "../../core/event/event.js";
import { createRandom, SEED, tell, type Random } from "../support/random.js";
import { listAt, submission, textAt, useApp, type TestWorkspace } from "../support/service/app.js";

const SEQUENCES = 1_000;
const AT_ONCE = 20;
const CALLS_MAX = 8;

/** What one item says: identifiers by their short names, `user_id:ann`. */
type Item = readonly string[];
const PERSONS = ["user_id", "email"];
/** By priority. */
const ORDER = ["user_id", "email", "device_id", "cookie_id"];

const namespaceOf = (name: string): string => name.slice(0, name.indexOf(":"));
const isPerson = (name: string): boolean => PERSONS.includes(namespaceOf(name));

/**
 * Who is one person after the calls, by other means than the service's: sets of names, and one question. Customers are people who differ
 * in a value of a person's namespace, so no two sets that both have one become one.
 */
function createOracle(customers: readonly Item[]) {
  const people = customers.map((names) => new Set(names));
  const personOf = (name: string): Set<string> => {
    const known = people.find((person) => person.has(name));
    if (known !== undefined) return known;
    const own = new Set([name]);
    people.push(own);
    return own;
  };
  const differ = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
    PERSONS.some((namespace) =>
      [one, other].every((side) => [...side].some((name) => namespaceOf(name) === namespace)),
    );
  const rank = (name: string): number => ORDER.indexOf(namespaceOf(name));
  return {
    people,
    hear: (item: Item): void => {
      const [first, ...others] = [...new Set(item)].toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
      if (first === undefined) return;
      const self = personOf(first);
      for (const name of others) {
        if (self.has(name)) continue;
        // A second name of the item itself is not even looked at.
        if (isPerson(name) && item.some((one) => one !== name && one < name && namespaceOf(one) === namespaceOf(name)))
          continue;
        const other = people.find((person) => person.has(name)) ?? new Set([name]);
        if (differ(self, other)) continue;
        for (const one of other) self.add(one);
        if (people.includes(other)) people.splice(people.indexOf(other), 1);
      }
    },
  };
}

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

/** Everything that a client can call with such a key; `draw` takes some names. Another door adds a line. */
const CALLS: readonly ((draw: () => Item, random: Random) => Call)[] = [
  (draw) => {
    const item = draw();
    return {
      shows: `collect ${item.join(" ")}`,
      items: [item],
      make: ({ post, schemaId }) => post("/v1/collect", submission(schemaId, payloadOf(item)), 202),
    };
  },
  (draw, random) => {
    const item = draw();
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
  (draw, random) => {
    const items = Array.from({ length: 1 + random.below(4) }, draw);
    return {
      shows: `batch ${items.map((item) => item.join(" ")).join(", then ")}`,
      items,
      make: ({ post, schemaId }) =>
        post("/v1/collect/batch", { events: items.map((item) => submission(schemaId, payloadOf(item))) }, 202),
    };
  },
  (draw) => {
    const identifiers = draw().map(identifierOf);
    return { shows: "identify", items: [], make: ({ post }) => post("/v1/identify", { identifiers }, 403) };
  },
  (draw) => {
    const [anonymous, known] = [...draw(), ...draw()].map(identifierOf);
    return { shows: "alias", items: [], make: ({ post }) => post("/v1/alias", { anonymous, known }, 403) };
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
    ...(random.below(2) === 0 ? [name(random.pick(["device_id", "cookie_id"]), `own-${n}`)] : []),
  ]);
  const pool = [
    ...customers.flat(),
    ...["ann", "bob", "eve", "new"].flatMap((who) => [name("user_id", who), name("email", who)]),
    ...["tab", "box"].map((value) => name("device_id", value)),
    ...["1", "2", "3"].map((value) => name("cookie_id", value)),
  ];
  const draw = (): Item => Array.from({ length: 1 + random.below(4) }, () => random.pick(pool));
  return {
    customers,
    calls: Array.from({ length: 1 + random.below(CALLS_MAX) }, () => random.pick(CALLS)(draw, random)),
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
    this.timeout(180_000);
    const random = createRandom(SEED);
    const sequences = Array.from({ length: SEQUENCES }, (_, number) => drawSequence(random, number));
    await allOf(sequences, play);
    while ((await app().service.backends.queue.depth()) > 0) await sleep(20);
    await allOf(sequences, check);
    tell(`${sequences.flatMap(({ calls }) => calls).length} calls`);
  });
});
