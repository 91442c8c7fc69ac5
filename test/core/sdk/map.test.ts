import assert from "node:assert/strict";
import { newId, type KeyId, type WorkspaceId } from "../../../core/ids.js";
import { mapBatch, mapBytes, mapOne, namesOf, unfitOf } from "../../support/sdk/mapping.js";

const track = (more: object = {}) => ({
  type: "track",
  event: "Order Completed",
  userId: "u-1",
  messageId: "m-1",
  ...more,
});
const ALL = { switches: { phone: true, deviceId: true, advertisingId: true } };
const GO = { channel: "server", context: { library: { name: "analytics-go" } } };

describe("An SDK's call as an event: who", () => {
  const cases: readonly (readonly [string, object, readonly string[]])[] = [
    ["both ids", track({ anonymousId: "a-1" }), ["user_id:u-1", "anonymous_id:a-1"]],
    ["a number as text", track({ userId: 42 }), ["user_id:42"]],
    ["empty text and null as absent", track({ userId: "", anonymousId: null }), []],
    [
      "the e-mail of an identify",
      { type: "identify", userId: "u-1", traits: { email: "a@x.test" } },
      ["user_id:u-1", "email:a@x.test"],
    ],
    [
      "an identify whose traits stand in the context",
      { type: "identify", userId: "u-1", context: { traits: { email: "a@x.test" } } },
      ["user_id:u-1", "email:a@x.test"],
    ],
    ["not the traits of a track itself", track({ traits: { email: "a@x.test" } }), ["user_id:u-1"]],
    [
      "the context's e-mail of a track",
      track({ context: { traits: { email: "a@x.test" } } }),
      ["user_id:u-1", "email:a@x.test"],
    ],
    [
      "no e-mail of a group",
      {
        type: "group",
        userId: "u-1",
        groupId: "g",
        traits: { email: "info@x.test" },
        context: { traits: { email: "a@x.test" } },
      },
      ["user_id:u-1"],
    ],
    [
      "external ids with a legal name",
      track({
        context: { externalIds: [{ type: "customer_id", id: 9 }, { type: "Not Legal", id: "x" }, null, { id: "y" }] },
      }),
      ["user_id:u-1", "customer_id:9"],
    ],
    [
      "RudderStack's name of external ids",
      track({ context: { externalId: [{ type: "loyalty", id: "l" }] } }),
      ["user_id:u-1", "loyalty:l"],
    ],
    [
      "no invented anonymousId of RudderStack's client for Go",
      track({ ...GO, anonymousId: "new-each-time" }),
      ["user_id:u-1"],
    ],
    [
      "its anonymousId where there is no userId",
      track({ ...GO, userId: "", anonymousId: "a-1" }),
      ["anonymous_id:a-1"],
    ],
    [
      "the anonymousId of Segment's client of the same name",
      track({ context: GO.context, anonymousId: "a-1" }),
      ["user_id:u-1", "anonymous_id:a-1"],
    ],
    [
      "no phone, device or advertising id of its own accord",
      track({ context: { traits: { phone: "+49 30 1" }, device: { id: "d", advertisingId: "ad" } } }),
      ["user_id:u-1"],
    ],
  ];
  for (const [name, item, expected] of cases)
    it(`takes ${name}`, () => assert.deepEqual(namesOf(mapOne(item)), expected));

  it("takes phone, device and advertising id where the workspace says so", () => {
    const context = { traits: { phone: "+49 30 1" }, device: { id: "d", advertisingId: "ad" } };
    assert.deepEqual(namesOf(mapOne(track({ context }), ALL)), [
      "user_id:u-1",
      "phone:+49 30 1",
      "device_id:d",
      "advertising_id:ad",
    ]);
  });

  it("names both sides of an alias, and says nothing of a thing with itself", () => {
    const alias = mapOne({ type: "alias", userId: "u-1", previousId: "a-1" });
    assert.deepEqual(alias.alias, { previous: "a-1", known: { namespace: "user_id", value: "u-1" } });
    assert.deepEqual(namesOf(alias), ["user_id:u-1"]);
    assert.equal(mapOne({ type: "alias", userId: "u-1", previousId: "u-1" }).alias, null);
    assert.equal(mapOne({ type: "alias", userId: 7, previousId: "7" }).alias, null);
    assert.equal(mapOne(track({ previousId: "a-1" })).alias, null);
  });

  it("takes the type of the path where the item has none", () => {
    const [mapped] = mapBytes(Buffer.from('{"userId":"u-1","groupId":"g"}'), false, { type: "group" });
    assert.equal(mapped?.kind === "item" && mapped.item.type, "group");
  });
});

describe("An SDK's call as an event: its id", () => {
  const idOf = (messageId: unknown, options = {}) => mapOne(track({ messageId }), options).eventId;

  it("is the same for the same message of the same sender, and only then", () => {
    assert.equal(idOf("m-1"), idOf("m-1"));
    const ids = [
      idOf("m-1"),
      idOf("m-2"),
      idOf("m-1", { sender: "bbbbbbbbbb" as KeyId }),
      idOf("m-1", { workspace: newId<WorkspaceId>() }),
    ];
    assert.equal(new Set(ids).size, 4);
  });

  it("takes a long or unprintable messageId by its hash, and no other id for it", () => {
    const long = "x".repeat(10_000);
    assert.equal(idOf(long), idOf(long));
    assert.notEqual(idOf(long), idOf(`${long}x`));
    assert.notEqual(idOf("é"), idOf("è"));
    const hashed = "9ee4c2f3ab53e4b4a3fcf4d9bd1e3c0e0b84e4c4d6cfc4b4a3fcf4d9bd1e3c0e";
    assert.notEqual(idOf(`sha256:${hashed}`), idOf(hashed));
  });

  it("is a new one each time without a messageId", () => {
    for (const none of [undefined, null, ""]) assert.notEqual(idOf(none), idOf(none));
  });

  it("has a fingerprint that a repeat keeps and another content changes", () => {
    const sent = mapOne(track({ sentAt: "2026-11-22T11:59:00Z", _metadata: { nodeVersion: "1" }, integrations: {} }));
    const again = mapOne(track({ sentAt: "2026-11-22T11:59:30Z", integrations: { All: false }, writeKey: "k" }));
    assert.equal(sent.fingerprint, again.fingerprint);
    assert.notEqual(sent.fingerprint, mapOne(track({ properties: { total: 1 } })).fingerprint);
  });
});

describe("An SDK's call as an event: its payload", () => {
  it("is the bytes as sent, without what the mapping read and without the key", () => {
    const sent =
      '{ "type":"track", "userId":"u-1","properties" : {"total": 1.50, "n":1e2,"t":"\\u00e4"} ,"writeKey":"secret","x" :[ 1 ] }';
    const { bytes, payload } = mapOne(sent);
    assert.equal(bytes.toString(), '{"properties" : {"total": 1.50, "n":1e2,"t":"\\u00e4"},"x" :[ 1 ]}');
    assert.deepEqual(payload, JSON.parse(bytes.toString()));
  });

  it("is an empty object where nothing is left", () => {
    assert.equal(mapOne('{"type":"page","userId":"u-1"}').bytes.toString(), "{}");
  });

  it("keeps times, groupId and the name of the event", () => {
    const item = mapOne(track({ groupId: "g", timestamp: "2026-11-22T11:00:00Z", sentAt: "2026-11-22T11:59:59Z" }));
    assert.deepEqual(item.payload, {
      event: "Order Completed",
      groupId: "g",
      timestamp: "2026-11-22T11:00:00Z",
      sentAt: "2026-11-22T11:59:59Z",
    });
  });
});

describe("An SDK's call that is no event", () => {
  const TYPES = "must be one of track, page, screen, identify, group, alias";
  const ID = "must be a string or a number";
  const cases: readonly (readonly [string, unknown, readonly (readonly [string, string])[]])[] = [
    ["an item that is no object", "5", [["", "must be an object"]]],
    ["an array", "[]", [["", "must be an object"]]],
    ["an unknown type", { type: "click", userId: "u-1" }, [["type", TYPES]]],
    ["no type", { userId: "u-1" }, [["type", TYPES]]],
    [
      "a wrong id",
      track({ userId: {}, anonymousId: true, messageId: [] }),
      [
        ["messageId", ID],
        ["userId", ID],
        ["anonymousId", ID],
      ],
    ],
    [
      "an alias without its sides",
      { type: "alias" },
      [
        ["userId", "is required"],
        ["previousId", "is required"],
      ],
    ],
    ["half a surrogate pair", '{"type":"track","event":"\\ud800"}', [["event", "must not contain a lone surrogate"]]],
    ["a key that is there twice", '{"type":"track","a":1,"a":2}', [["a", "is a duplicate key"]]],
    [
      "a number that a double cannot hold",
      '{"type":"track","userId":9007199254740993}',
      [["userId", "is a number that a double cannot represent; send it as a string"]],
    ],
    [
      "too many levels",
      `{"type":"track","a":${"[".repeat(64)}${"]".repeat(64)}}`,
      [[`a${".0".repeat(63)}`, "is nested too deeply"]],
    ],
    ["a number that is none", '{"type":"track","properties":{"total":NaN}}', [["", "is not valid JSON"]]],
    ["a messageId that is none", '{"type":"track","messageId":NaN}', [["", "is not valid JSON"]]],
    ["a type that is none", '{"type":trux}', [["", "is not valid JSON"]]],
    ["a comma too many", '{"type":"track",}', [["", "is not valid JSON"]]],
    ["something behind what cannot be stored", '{"type":"track","a":"\\ud800","b":tru}', [["", "is not valid JSON"]]],
    ["a broken item behind many levels", `{"a":${"[".repeat(90)}${"]".repeat(90)},}`, [["", "is not valid JSON"]]],
  ];
  for (const [name, item, errors] of cases)
    it(`names ${name}, beside an item that fits`, () => {
      const [bad, good] = mapBatch([item, track()]);
      assert.ok(bad?.kind === "unfit");
      assert.deepEqual(
        bad.errors.map(({ path, message }) => [path, message]),
        errors,
      );
      assert.equal(good?.kind, "item");
    });

  it("keeps what was sent, without the key, and says which message it was", () => {
    const unfit = unfitOf('{"type":"click", "writeKey":"secret","messageId":"m-9","a" : 1,"b":2}');
    assert.equal(unfit.bytes.toString(), '{"type":"click","messageId":"m-9","a" : 1,"b":2}');
    assert.deepEqual([unfit.type, unfit.messageId, unfit.index], ["click", "m-9", 0]);
    assert.equal(unfit.eventId, mapOne(track({ messageId: "m-9" })).eventId);
  });

  it("has a fingerprint that a repeat keeps and another content changes", () => {
    for (const [wrong, other] of [
      ['"type":"click","a":1', '"type":"click","a":2'],
      ['"type":"track","userId":{}', '"type":"track","userId":[]'],
      ['"type":"track","a":NaN', '"type":"track","a":null,"b":NaN'],
      [`"type":"track","a":"${"x".repeat(262_144)}"`, `"type":"track","a":"${"x".repeat(262_145)}"`],
    ]) {
      const sent = (item: string, changing: string) => unfitOf(`{${item},"messageId":"m-1",${changing}}`).fingerprint;
      const first = sent(wrong!, '"sentAt":"2026-11-22T11:59:00Z","_metadata":{"retryCount":9}');
      assert.equal(first, sent(wrong!, '"sentAt":"2026-11-22T11:59:30.5Z","writeKey":"k"'), wrong);
      assert.notEqual(first, sent(other!, '"sentAt":"2026-11-22T11:59:00Z"'), other);
    }
  });

  it("has the type of the path where it says none, and a number as messageId", () => {
    for (const [item, options, type] of [
      [{ userId: {}, messageId: 55 }, { type: "page" }, "page"],
      [{ type: null, userId: {}, messageId: 55 }, { type: "page" }, "page"],
      [{ type: "click", messageId: 55 }, { type: "page" }, "click"],
      [{ userId: "u-1", messageId: 55, t: "x".repeat(262_144) }, { type: "track" }, "track"],
    ] as const) {
      const [mapped] = mapBytes(Buffer.from(JSON.stringify(item)), false, options);
      assert.ok(mapped?.kind === "unfit");
      assert.deepEqual([mapped.type, mapped.messageId], [type, "55"]);
      const { type: kept, messageId } = JSON.parse(mapped.bytes.toString()) as Readonly<Record<string, unknown>>;
      if ("t" in item) assert.deepEqual([kept, messageId], ["track", "55"], "what is left of a large one");
    }
  });

  it("leaves type, messageId and size of one that is no JSON, as far as they can be read", () => {
    for (const [item, type, messageId] of [
      ['{"type":"track","writeKey":"secret","messageId":"m-1","userId":"u-1","a":NaN}', "track", "m-1"],
      ['{"type":tru,"messageId":NaN}', null, null],
      ['{"type":"track",}', null, null],
    ] as const) {
      const unfit = unfitOf(item);
      assert.deepEqual(JSON.parse(unfit.bytes.toString()), { type, messageId, bytes: item.length });
    }
  });

  it("leaves type, messageId and size of one that is too large to keep", () => {
    const large = JSON.stringify(track({ writeKey: "secret", properties: { t: "x".repeat(262_144) } }));
    const unfit = unfitOf(large);
    assert.deepEqual(unfit.errors, [{ path: "", message: "must have at most 262144 bytes" }]);
    assert.deepEqual(JSON.parse(unfit.bytes.toString()), { type: "track", messageId: "m-1", bytes: large.length });
  });
});
