import assert from "node:assert/strict";
import type { SdkItem } from "../../../core/sdk/item.js";
import { mapBytes, namesOf } from "../../support/sdk/mapping.js";
import { recordings, type Recorded } from "../../support/sdk/recorded.js";

const PERSON = "user_id:u-1";
const ANON = "anonymous_id:anon-1";
const EMAIL = "email:Ada@Example.com";
const TRACK_EMAIL = "email:ada@example.com";
/** In the browsers each run has an anonymousId of its own. */
const ANY = "anonymous_id:*";

/** What each SDK's messages are, in the order in which it sent them: type, name, identifiers; of an alias the previous id. */
const SERVER = {
  identify: ["identify", null, [PERSON, ANON, EMAIL]],
  order: ["track", "Order Completed", [PERSON, TRACK_EMAIL]],
  viewed: ["track", "Viewed", [ANON]],
  alias: ["alias", "<- anon-1", [PERSON]],
  group: ["group", null, [PERSON]],
  page: ["page", "Home", [ANON]],
  screen: ["screen", "Main", [ANON]],
} as const;
const byUser = (name: string, ...more: readonly string[]) => ["track", name, [PERSON, ...more]] as const;
const BROWSER = [PERSON, ANY] as const;
const SEGMENT_BROWSER = [
  ["identify", null, [...BROWSER, EMAIL]],
  ["track", "Order Completed", BROWSER],
  ["page", "Home", BROWSER],
  ["screen", "Main", BROWSER],
  ["group", null, BROWSER],
  ["alias", null, BROWSER],
] as const;
const RUDDER_BROWSER = [
  ["identify", null, [...BROWSER, EMAIL]],
  ["track", "Order Completed", [...BROWSER, EMAIL]],
  ["page", "Home", [...BROWSER, EMAIL]],
  ["group", null, BROWSER],
  ["alias", "<- u-1", ["user_id:u-2", ANY, EMAIL]],
  ["track", "sync", [...BROWSER, EMAIL, "customer_id:c-9"]],
] as const;
const anonymous = (type: string, name: string | null) => [type, name, [ANY]] as const;

const { identify, order, viewed, alias, group, page, screen } = SERVER;
const EXPECTED: Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>> = {
  "segment-analytics-node": {
    requests: [
      identify,
      order,
      viewed,
      byUser("With externalIds", "customer_id:c-9"),
      alias,
      group,
      page,
      screen,
      byUser("Odd timestamp"),
      byUser("No integrations"),
    ],
  },
  "segment-analytics-go": { requests: [identify, order, viewed, byUser("other zone"), alias, group, page, screen] },
  "segment-analytics-python": {
    requests: [
      identify,
      order,
      viewed,
      alias,
      group,
      ["page", "Home", [PERSON]],
      ["screen", "Main", [PERSON]],
      ["track", "Numeric user id", ["user_id:42"]],
      byUser("naive local time"),
    ],
  },
  "rudder-sdk-node": {
    requests: [identify, order, viewed, byUser("With externalId", "customer_id:c-9"), alias, group, page, screen],
  },
  "rudder-analytics-java": { requests: [identify, order, viewed, byUser("User only"), alias, group, page, screen] },
  "segment-analytics-next": {
    one_by_one: SEGMENT_BROWSER,
    only_cdnURL_changed: [anonymous("track", "Via settings")],
    batching: SEGMENT_BROWSER,
    pagehide_batching: SEGMENT_BROWSER,
    snippet: [anonymous("page", null), anonymous("track", "From snippet")],
    metrics: [anonymous("track", "m")],
  },
  "rudder-analytics-js": {
    default_xhr: RUDDER_BROWSER,
    batch: RUDDER_BROWSER,
    beacon: RUDDER_BROWSER,
    prefix: [anonymous("track", "e")],
    anonymous_only: [anonymous("track", "e"), ["alias", "<- the anonymousId", ["user_id:u-9", ANY]]],
  },
};

const itemsOf = ({ body }: Recorded, now: number): readonly SdkItem[] =>
  mapBytes(Buffer.from(JSON.stringify(body)), "batch" in body, { now, receivedAt: now }).map((mapped) => {
    assert.ok(mapped.kind === "item", JSON.stringify(mapped));
    return mapped.item;
  });

function shown(item: SdkItem, isBrowser: boolean): unknown {
  const names = namesOf(item);
  const anonymousId = names.find((name) => name.startsWith("anonymous_id:"))?.slice("anonymous_id:".length);
  const previous =
    item.alias === null ? null : item.alias.previous === anonymousId ? "the anonymousId" : item.alias.previous;
  return [
    item.type,
    previous === null ? item.name : `<- ${previous}`,
    names.map((name) => (isBrowser && name.startsWith("anonymous_id:") ? ANY : name)),
  ];
}

for (const { name, at, scenarios } of recordings())
  describe(`The recorded requests of ${name}`, () => {
    const isBrowser = name === "segment-analytics-next" || name === "rudder-analytics-js";
    const items = (scenario: string) => (scenarios[scenario] ?? []).flatMap((request) => itemsOf(request, at));

    it("are all expected", () => assert.deepEqual(Object.keys(scenarios), Object.keys(EXPECTED[name] ?? {})));

    for (const scenario of Object.keys(scenarios)) {
      it(`are mapped as the table says: ${scenario}`, () =>
        assert.deepEqual(
          items(scenario).map((item) => shown(item, isBrowser)),
          EXPECTED[name]?.[scenario],
        ));

      it(`keep what was not read, have an id each, and no key: ${scenario}`, () => {
        const all = items(scenario);
        for (const { payload, bytes } of all) assert.deepEqual(payload, JSON.parse(bytes.toString()));
        assert.equal(new Set(all.map(({ eventId }) => eventId)).size, all.length);
        assert.ok(all.every(({ bytes }) => !bytes.includes("writeKey") && !bytes.includes("_secret")));
        const again = items(scenario);
        assert.deepEqual(
          all.map(({ eventId, fingerprint }) => [eventId, fingerprint]),
          again.map(({ eventId, fingerprint }) => [eventId, fingerprint]),
        );
      });

      it(`were made within a minute of the recording, or in January: ${scenario}`, () => {
        for (const { timestamp } of items(scenario)) assert.match(timestamp, /^2026-(?:01-31T1[12]:00:00|11-22T15:)/);
      });
    }
  });
