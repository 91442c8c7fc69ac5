import assert from "node:assert/strict";
import { keyIdOf, mintKey } from "../../../core/catalog/api-key.js";
import { forge } from "../../support/random/forge.js";
import { at, errorPaths, listAt, OPERATOR_KEY, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const KEY = /^onym_([0-9A-Za-z]{10})_[0-9A-Za-z]{38}$/;
const NAMESPACES = "/v1/namespaces";

describe("API keys", () => {
  let aheadMs = 0;
  const app = useApp({ KEY_ROTATION_GRACE_S: "60" }, { now: () => Date.now() + aheadMs });
  let workspace: TestWorkspace;
  beforeEach(async () => {
    workspace = await app().workspace();
  });
  const create = (body: unknown) => workspace.send("POST", "/v1/keys", body);
  const statusWith = async (key: string | null, headers = {}) =>
    (await app().send("GET", NAMESPACES, { key, headers })).status;

  it("are made with 201: the key once, its id, role, name and expiry", async () => {
    const { status, body } = await create({ role: "editor", name: "web" });
    assert.equal(status, 201);
    assert.equal(KEY.exec(textAt(body, "key"))?.[1], body["key_id"]);
    const { key: _key, key_id: _id, created_at: _at, ...rest } = body;
    assert.deepEqual(rest, {
      role: "editor",
      send: null,
      origins: null,
      per_minute: null,
      name: "web",
      expires_at: null,
      rotated_to: null,
    });
    assert.equal(await statusWith(textAt(body, "key")), 200);
  });

  it("never show their secret again: lists show key_id and role", async () => {
    const made = await create({ role: "viewer" });
    const list = await workspace.send("GET", "/v1/keys");
    const secret = textAt(made.body, "key").slice(16);
    assert.ok(!list.text.includes(secret) && !list.text.includes("hash"), list.text);
    const shown = listAt(list.body, "keys").find((one) => at(one, "key_id") === made.body["key_id"]);
    assert.equal(at(shown, "role"), "viewer");
    assert.equal(listAt(list.body, "keys").length, 2);
  });

  it("are at most 200 in a workspace: until one is revoked or expires, another is 422, also of a rotation", async () => {
    const expiring = { role: "viewer", expires_at: new Date(Date.now() + aheadMs + 60_000).toISOString() };
    const keyId = textAt((await create(expiring)).body, "key_id");
    const revoked = textAt((await create({ role: "viewer" })).body, "key_id");
    for (let n = 3; n < 200; n += 1) assert.equal((await create({ role: "viewer" })).status, 201);
    const rotate = () => workspace.send("POST", `/v1/keys/${keyId}/rotate`);
    for (const answer of [await create({ role: "viewer" }), await rotate()]) {
      assert.deepEqual([answer.status, errorPaths(answer)], [422, [""]]);
      assert.match(textAt(answer.body, "detail"), /at most 200 keys/);
    }
    assert.equal((await workspace.send("DELETE", `/v1/keys/${revoked}`)).status, 204);
    assert.equal((await rotate()).status, 201);
    assert.equal((await create({ role: "viewer" })).status, 422);
    aheadMs += 61_000;
    assert.equal((await create({ role: "viewer" })).status, 201);
    const way = `/v1/workspaces/${workspace.id}/keys`;
    assert.equal((await app().send("POST", way, { key: OPERATOR_KEY })).status, 201, "the way back stays open");
  });

  it("scope a request to one workspace", async () => {
    const other = await app().workspace();
    await other.send("POST", "/v1/identify", { identifiers: [{ namespace: "only_there", value: "1" }] });
    const mine = await workspace.send("GET", NAMESPACES);
    assert.ok(!mine.text.includes("only_there"));
    assert.ok((await other.send("GET", NAMESPACES)).text.includes("only_there"));
  });

  it("have one of four roles; another one, or an unknown field, is 422", async () => {
    for (const role of ["viewer", "editor", "admin", "owner"]) assert.equal((await create({ role })).status, 201);
    const wrong: readonly (readonly [object, string])[] = [
      [{ role: "king" }, "role"],
      [{ role: "Owner" }, "role"],
      [{}, "role"],
      [{ role: "viewer", key: "onym_x" }, "key"],
      [{ role: "viewer", name: "" }, "name"],
    ];
    for (const [body, path] of wrong) {
      const answer = await create(body);
      assert.equal(answer.status, 422);
      assert.deepEqual(errorPaths(answer), [path], answer.text);
    }
  });

  it("that expire are 401 from then on; an expiry in the past or of a wrong form is 422", async () => {
    const soon = new Date(Date.now() + aheadMs + 30_000).toISOString();
    const made = await create({ role: "viewer", expires_at: soon });
    assert.equal(made.body["expires_at"], soon);
    assert.equal(await statusWith(textAt(made.body, "key")), 200);
    aheadMs += 30_000;
    assert.equal(await statusWith(textAt(made.body, "key")), 401);
    for (const expires of ["2020-01-01T00:00:00Z", "tomorrow", "2999-02-30T00:00:00Z", ""])
      assert.deepEqual(errorPaths(await create({ role: "viewer", expires_at: expires })), ["expires_at"]);
  });

  it("that are revoked are refused at once", async () => {
    const made = await create({ role: "viewer" });
    const key = textAt(made.body, "key");
    assert.equal(await statusWith(key), 200);
    const gone = await workspace.send("DELETE", `/v1/keys/${textAt(made.body, "key_id")}`);
    assert.deepEqual([gone.status, gone.text], [204, ""]);
    assert.equal(await statusWith(key), 401);
    assert.equal((await workspace.send("DELETE", `/v1/keys/${textAt(made.body, "key_id")}`)).status, 404);
  });

  it("of which the last owner key without an expiry cannot be revoked: 409", async () => {
    const list = await workspace.send("GET", "/v1/keys");
    const owner = textAt(list.body, "keys.0.key_id");
    await create({ role: "owner", expires_at: "2999-01-01T00:00:00Z" });
    const refused = await workspace.send("DELETE", `/v1/keys/${owner}`);
    assert.deepEqual([refused.status, refused.body["code"]], [409, "conflict"]);
    await create({ role: "owner" });
    assert.equal((await workspace.send("DELETE", `/v1/keys/${owner}`)).status, 204);
  });

  it("are rotated: both keys live during the grace time, then only the new one", async () => {
    const made = await create({ role: "admin", name: "ci" });
    const rotated = await workspace.send("POST", `/v1/keys/${textAt(made.body, "key_id")}/rotate`);
    assert.equal(rotated.status, 201);
    assert.deepEqual([rotated.body["role"], rotated.body["name"]], ["admin", "ci"]);
    assert.equal(rotated.body["rotated_from"], made.body["key_id"]);
    assert.notEqual(rotated.body["key"], made.body["key"]);
    const [old, next] = [textAt(made.body, "key"), textAt(rotated.body, "key")];
    assert.deepEqual([await statusWith(old), await statusWith(next)], [200, 200]);
    aheadMs += 59_000;
    assert.equal(await statusWith(old), 200);
    aheadMs += 1_001;
    assert.deepEqual([await statusWith(old), await statusWith(next)], [401, 200]);
  });

  it("are rotated once: a repeat is 409 and says what to do, since a second successor would soon expire", async () => {
    const workspace = await app().workspace();
    const { body } = await workspace.send("POST", "/v1/keys", { role: "owner" });
    const path = `/v1/keys/${textAt(body, "key_id")}/rotate`;
    const first = await workspace.send("POST", path);
    assert.deepEqual([first.status, first.body["expires_at"]], [201, null]);
    const again = await workspace.send("POST", path);
    assert.deepEqual([again.status, again.body["code"]], [409, "conflict"]);
    assert.ok(textAt(again.body, "detail").includes(textAt(first.body, "key_id")));
  });

  it("of another workspace look unknown, to revoke and to rotate", async () => {
    const other = await app().workspace();
    const foreign = textAt((await other.send("GET", "/v1/keys")).body, "keys.0.key_id");
    for (const keyId of [foreign, mintKey().keyId, "x", "%00"]) {
      const revoked = await workspace.send("DELETE", `/v1/keys/${keyId}`);
      const rotated = await workspace.send("POST", `/v1/keys/${keyId}/rotate`);
      assert.deepEqual([revoked.status, rotated.status], [404, 404], keyId);
      assert.equal(revoked.body["detail"], rotated.body["detail"]);
    }
    assert.equal((await other.send("GET", "/v1/keys")).status, 200);
    assert.ok(!(await workspace.send("GET", "/v1/keys")).text.includes(foreign));
  });

  it("are listed in pages until next_cursor is null", async () => {
    for (let i = 0; i < 4; i++) await create({ role: "viewer" });
    const ids: string[] = [];
    let query = "?limit=2";
    for (let page = 0; page < 5; page++) {
      const { body } = await workspace.send("GET", `/v1/keys${query}`);
      ids.push(...listAt(body, "keys").map((one) => textAt(one, "key_id")));
      if (body["next_cursor"] === null) break;
      query = `?limit=2&cursor=${textAt(body, "next_cursor")}`;
    }
    assert.deepEqual([ids.length, new Set(ids).size], [5, 5]);
  });

  it("are sent as Authorization: Bearer <API_KEY>; the scheme's case and spaces around do not matter", async () => {
    const key = await workspace.key("viewer");
    for (const value of [`Bearer ${key}`, `bearer ${key}`, `BEARER   ${key}`, `Bearer ${key} `])
      assert.equal(await statusWith(null, { Authorization: value }), 200, value);
  });

  it("in a URL are refused", async () => {
    const key = await workspace.key("viewer");
    for (const name of ["key", "api_key", "access_token", "Authorization"])
      assert.ok([400, 401].includes((await app().send("GET", `${NAMESPACES}?${name}=${key}`)).status), name);
    const both = await app().send("GET", `${NAMESPACES}?api_key=${key}`, { key });
    assert.equal(both.status, 400);
    assert.ok(!both.text.includes(key));
  });
});

describe("A request without a valid key", () => {
  let aheadMs = 0;
  const app = useApp({}, { now: () => Date.now() + aheadMs });

  it("is 401 with WWW-Authenticate and one body, whether the key is missing, malformed, unknown, revoked or expired", async () => {
    const workspace = await app().workspace();
    const make = async (body: object) => (await workspace.send("POST", "/v1/keys", { role: "viewer", ...body })).body;
    const revoked = await make({});
    await workspace.send("DELETE", `/v1/keys/${textAt(revoked, "key_id")}`);
    const expired = await make({ expires_at: new Date(Date.now() + 30_000).toISOString() });
    aheadMs += 30_001;
    const good = await workspace.key("viewer");
    const goodId = keyIdOf(good)!;
    assert.equal(keyIdOf(forge(goodId)), goodId);
    const headers: readonly (string | null)[] = [
      null,
      "",
      "Bearer",
      "Bearer ",
      good,
      `Basic ${Buffer.from(`${good}:`).toString("base64")}`,
      `Token ${good}`,
      `Bearer ${good} extra`,
      `Bearer ${good.slice(0, -1)}`,
      `Bearer ${good.toLowerCase()}`,
      `Bearer "${good}"`,
      `Bearer ${mintKey().key}`,
      `Bearer ${forge(goodId)}`,
      `Bearer ${textAt(revoked, "key")}`,
      `Bearer ${textAt(expired, "key")}`,
      `Bearer ${"x".repeat(5_000)}`,
    ];
    const bodies = new Set<string>();
    for (const value of headers) {
      const sent = value === null ? {} : { Authorization: value };
      const answer = await app().send("GET", NAMESPACES, { headers: sent });
      assert.equal(answer.status, 401, String(value));
      assert.match(String(answer.headers["www-authenticate"]), /^Bearer/);
      bodies.add(JSON.stringify({ ...answer.body, request_id: null }));
    }
    assert.equal(bodies.size, 1);
  });

  it("is refused before its body is read or its route's rules are told", async () => {
    const answer = await app().send("POST", "/v1/collect?wrong=1", { body: "{not json" });
    assert.equal(answer.status, 401);
  });
});
