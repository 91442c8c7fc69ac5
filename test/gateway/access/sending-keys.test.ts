import assert from "node:assert/strict";
import { at, errorPaths, listAt, submission, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const ONE = { namespace: "user_id", value: "i" };
const OTHER = { namespace: "cookie_id", value: "i" };

describe("A key of a sender", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  beforeEach(async () => {
    workspace = await app().workspace();
  });
  const create = (body: object) => workspace.send("POST", "/v1/keys", { role: "editor", ...body });

  it("shows what it may send: when it is made, in the list, and after a rotation", async () => {
    const sending = { send: "collect", origins: ["https://shop.example", "http://[::1]:8000"], per_minute: 600 };
    const made = await create(sending);
    const rotated = await workspace.send("POST", `/v1/keys/${textAt(made.body, "key_id")}/rotate`);
    const shown = listAt((await workspace.send("GET", "/v1/keys")).body, "keys");
    const listed = shown.filter((key) => at(key, "send") !== null);
    assert.deepEqual([made.status, rotated.status, listed.length], [201, 201, 2], made.text);
    for (const key of [made.body, rotated.body, ...listed])
      for (const [name, value] of Object.entries(sending)) assert.deepEqual(at(key, name), value);
  });

  it("may send without a bound from everywhere unless it says otherwise", async () => {
    for (const send of ["collect", "all"]) {
      const { body } = await create({ send, origins: null });
      assert.deepEqual([body["send"], body["origins"], body["per_minute"]], [send, null, null]);
    }
  });

  const wrong: readonly (readonly [string, object, string])[] = [
    ["another kind of sending", { send: "identify" }, "send"],
    ["a flag", { send: true }, "send"],
    ["the role admin", { role: "admin", send: "all" }, "send"],
    ["the role viewer", { role: "viewer", send: "collect" }, "send"],
    ["origins without send", { origins: ["https://shop.example"] }, "origins"],
    ["origins with send: null", { send: null, origins: ["https://shop.example"] }, "origins"],
    ["per_minute without send", { per_minute: 5 }, "per_minute"],
    ["per_minute 0", { send: "all", per_minute: 0 }, "per_minute"],
    ["per_minute beyond a million", { send: "all", per_minute: 1_000_001 }, "per_minute"],
    ["per_minute 1.5", { send: "all", per_minute: 1.5 }, "per_minute"],
    ["no origin at all", { send: "collect", origins: [] }, "origins"],
    ["one origin as text", { send: "collect", origins: "https://shop.example" }, "origins"],
    ["an origin twice", { send: "collect", origins: ["https://a.example", "https://a.example"] }, "origins"],
    [
      "51 origins",
      { send: "collect", origins: Array.from({ length: 51 }, (_, i) => `https://${i}.example`) },
      "origins",
    ],
    ["a number", { send: "collect", origins: [7] }, "origins.0"],
    ...[
      "*",
      "https://*.shop.example",
      "https://shop.example/",
      "https://shop.example/path",
      "https://Shop.example",
      "HTTPS://shop.example",
      "https://shop.example:443",
      "http://shop.example:80",
      "https://shop.example:99999",
      "https://user@shop.example",
      "https://bücher.example",
      "ftp://shop.example",
      "shop.example",
      "null",
      "https://",
      " https://shop.example",
      `https://${"a".repeat(300)}.example`,
    ].map(
      (origin) => [`the origin ${origin.slice(0, 40)}`, { send: "collect", origins: [origin] }, "origins.0"] as const,
    ),
  ];
  for (const [what, body, path] of wrong)
    it(`is not made with ${what}: 422 names ${path}`, async () => {
      const answer = await create(body);
      assert.deepEqual([answer.status, errorPaths(answer)], [422, [path]], answer.text);
    });

  it("with send: collect collects; identify and alias are 403 that names the kind of key which may", async () => {
    const schemaId = await workspace.schema();
    const event = submission(schemaId, { email: "i@example.com" });
    assert.equal((await workspace.as("collect", "POST", "/v1/collect", event)).status, 202);
    for (const [target, body] of [
      ["/v1/identify", { identifiers: [ONE] }],
      ["/v1/alias", { anonymous: OTHER, known: ONE }],
    ] as const) {
      const refused = await workspace.as("collect", "POST", target, body);
      assert.deepEqual([refused.status, refused.body["code"]], [403, "insufficient_scope"]);
      assert.match(textAt(refused.body, "detail"), /send: all/);
    }
  });

  it("with send: all also identifies and links an alias", async () => {
    const schemaId = await workspace.schema();
    const event = submission(schemaId, { email: "i@example.com" });
    assert.equal((await workspace.as("all", "POST", "/v1/collect", event)).status, 202);
    assert.equal((await workspace.as("all", "POST", "/v1/identify", { identifiers: [ONE] })).status, 200);
    assert.equal((await workspace.as("all", "POST", "/v1/alias", { anonymous: OTHER, known: ONE })).status, 200);
  });

  it("reads nothing: 403 says which role a reading key has", async () => {
    for (const caller of ["collect", "all"] as const)
      for (const [method, target, body] of [
        ["POST", "/v1/profiles/lookup", { identifiers: [ONE] }],
        ["GET", "/v1/namespaces", undefined],
        ["GET", "/v1/keys", undefined],
      ] as const) {
        const refused = await workspace.as(caller, method, target, body);
        assert.deepEqual([refused.status, refused.body["code"]], [403, "insufficient_scope"], `${caller} ${target}`);
        assert.match(textAt(refused.body, "detail"), /role (viewer|owner) or higher and no send/);
      }
  });

  it("with send: collect links one value of each person's namespace; the event lists the others with the rule scope", async () => {
    const field = (namespace: string) => ({ type: "string", "x-identity": { namespace } });
    const emails = { type: "array", items: field("email") };
    const cookies = { type: "array", items: field("cookie_id") };
    const schemaId = await workspace.schema({ type: "object", properties: { emails, cookies } });
    const event = submission(schemaId, { emails: ["b@example.com", "A@example.com", "none"], cookies: ["c-1", "c-2"] });
    const [scoped, whole] = [await workspace.key("collect"), await workspace.key("all")];
    const eventOf = async (key: string) => {
      const { body } = await app().send("POST", "/v1/collect", { key, body: event });
      return (await workspace.settled(body["event_id"])).body;
    };
    const shown = await eventOf(scoped);
    assert.deepEqual(shown["dropped"], [
      { identifier: { namespace: "email", value: "none" }, rule: "blocked" },
      { identifier: { namespace: "email", value: "b@example.com" }, rule: "scope" },
    ]);
    const profile = await workspace.send("GET", `/v1/profiles/${textAt(shown, "profile_id_then")}`);
    const values = listAt(profile.body, "identifiers").map((one) => textAt(one, "value"));
    assert.deepEqual(values.toSorted(), ["a@example.com", "c-1", "c-2"]);
    assert.deepEqual(listAt(await eventOf(whole), "dropped").length, 1, "a key with send: all links what it says");
  });
});
