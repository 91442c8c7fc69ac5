import assert from "node:assert/strict";
import {
  OPERATOR_KEY,
  startApp,
  useApp,
  type Answer,
  type Caller,
  type TestWorkspace,
} from "../../support/service/app.js";
import { basic, sendSdk, track } from "../../support/sdk/client.js";

describe("The key of an SDK's request", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let key: string;
  before(async () => {
    workspace = await app().workspace();
    key = await workspace.key("collect");
  });

  /** The five places; each sends one message with the key there, or asks with it. */
  const PLACES: Readonly<Record<string, (key: string) => Promise<Answer>>> = {
    "the user name of Authorization: Basic": (given) => sendSdk(app(), "/v1/track", { key: given, body: track() }),
    "the parameter writeKey": (given) => sendSdk(app(), `/v1/track?writeKey=${given}&v=3.1`, { body: track() }),
    "writeKey of the body": (given) => sendSdk(app(), "/v1/batch", { body: { writeKey: given, batch: [track()] } }),
    "writeKey of its first item": (given) =>
      sendSdk(app(), "/v1/b", { body: { batch: [track({ writeKey: given }), track()] } }),
    "the path": (given) => app().send("GET", `/v1/projects/${given}/settings`),
  };

  for (const [place, send] of Object.entries(PLACES)) {
    it(`counts in ${place}`, async () => assert.equal((await send(key)).status, 200));

    it(`is refused in ${place} if it is of another kind, and the answer says which is needed`, async () => {
      for (const caller of ["viewer", "editor", "owner", "all"] as const satisfies readonly Caller[]) {
        const { status, body } = await send(await workspace.key(caller));
        assert.deepEqual([status, body["code"]], [401, "unauthenticated"], caller);
        assert.match(String(body["message"]), /need a collect-only key/, caller);
      }
    });

    it(`is refused in ${place} if it is none`, async () => {
      const other = `${key.slice(0, -1)}${key.endsWith("x") ? "y" : "x"}`;
      for (const wrong of ["nonsense", other, OPERATOR_KEY]) assert.equal((await send(wrong)).status, 401);
    });
  }

  it("is needed, even where nothing else can be read", async () => {
    for (const body of [{ batch: [track()] }, "{", "", Buffer.from([0x1f, 0x8b, 1, 2, 3])]) {
      const answer = await sendSdk(app(), "/v1/batch", { body });
      assert.deepEqual([answer.status, answer.body["code"]], [401, "unauthenticated"], answer.text);
    }
    for (const target of ["/v1/identify", "/v1/alias", "/v1/identify?writeKey="])
      assert.equal((await app().send("POST", target, { body: { userId: "u-1" } })).status, 401, target);
  });

  it("is needed before anything is said about a body that nobody reads, or its encoding", async () => {
    for (const target of ["/v1/identify", "/v1/batch", "/v1/t"])
      for (const encoding of ["br", "deflate"]) {
        const headers = { "Content-Encoding": encoding };
        assert.equal((await sendSdk(app(), target, { body: "{}", headers })).status, 401, target);
        assert.equal((await sendSdk(app(), target, { key, body: "{}", headers })).status, 415, target);
      }
    for (const body of [
      '{"writeKey":"\\q","batch":[]}',
      '{"writeKey":nope,"batch":[]}',
      '{"batch":[{"writeKey":"\\q"}]}',
    ])
      assert.equal((await sendSdk(app(), "/v1/batch", { body })).status, 401, body);
  });

  it("counts wherever it stands in a body of which the rest is no JSON: that is 400, because it is known", async () => {
    for (const body of [`{"writeKey":"${key}","batch":[],"foo":bar}`, `{"batch":[{"writeKey":"${key}"}],"foo":bar}`]) {
      const answer = await sendSdk(app(), "/v1/batch", { body });
      assert.deepEqual([answer.status, answer.body["code"]], [400, "invalid_json"], body);
    }
  });

  it("must be the same in all places where it is", async () => {
    const other = await (await app().workspace()).key("collect");
    const requests: readonly (() => Promise<Answer>)[] = [
      () => sendSdk(app(), `/v1/track?writeKey=${other}`, { key, body: track() }),
      () => sendSdk(app(), `/v1/track?writeKey=${key}&writeKey=${key}`, { body: track() }),
      () => sendSdk(app(), "/v1/track", { key, body: track({ writeKey: other }) }),
      () => sendSdk(app(), "/v1/batch", { key, body: { batch: [track({ writeKey: other })] } }),
      () => sendSdk(app(), "/v1/batch", { body: { writeKey: key, batch: [track({ writeKey: other })] } }),
      () => sendSdk(app(), "/v1/batch", { key, body: { writeKey: 7, batch: [] } }),
      () => app().send("GET", `/v1/projects/${key}/settings`, { headers: { Authorization: basic(other) } }),
    ];
    for (const send of requests) {
      const { status, body } = await send();
      assert.equal(status, 401);
      assert.match(String(body["message"]), /^The keys? in .* (differ|must be one string)\./);
      assert.ok(!JSON.stringify(body).includes("onym_"), "no key is answered");
    }
    const same = { writeKey: key, batch: [track({ writeKey: key })] };
    assert.equal((await sendSdk(app(), `/v1/batch?writeKey=${key}`, { key, body: same })).status, 200);
    const none = { writeKey: null, batch: [track({ writeKey: "" })] };
    assert.equal((await sendSdk(app(), "/v1/batch?writeKey=", { key, body: none })).status, 200);
  });

  it("is never a bearer key", async () => {
    const answer = await app().send("POST", "/v1/batch", { key, body: { batch: [] } });
    assert.equal(answer.status, 401);
    assert.match(String(answer.body["message"]), /Authorization: Basic/);
  });

  it("is in no log, and no address is", async () => {
    await sendSdk(app(), `/v1/track?writeKey=${key}`, { key: "onym_wrong", body: track() });
    await app().send("GET", `/v1/projects/${key}x/settings`);
    await sendSdk(app(), "//v1/batch/", { key, body: { writeKey: key, batch: 7 } });
    const logged = app().records.join("\n");
    assert.match(logged, /projects\/:key\/settings/);
    for (const secret of [key, basic(key).slice(6), "writeKey=", `${key.slice(5, 15)}_`])
      assert.ok(!logged.includes(secret));
  });
});

describe("Wrong keys of SDKs from one address", () => {
  let app = useApp({ AUTH_FAILURES_PER_MINUTE: "3" });

  it("are too many at some point, wherever they stand, and a right key goes on", async () => {
    const key = await (await app().workspace()).key("collect");
    assert.equal((await sendSdk(app(), "/v1/track", { key, body: track() })).status, 200);
    const statuses: number[] = [];
    for (let time = 0; time < 5; time += 1) {
      const body = { writeKey: "nonsense", batch: [track()] };
      statuses.push((await sendSdk(app(), "/v1/batch", { body })).status);
    }
    assert.deepEqual(statuses, [401, 401, 401, 429, 429]);
    const refused = await sendSdk(app(), "/v1/track", { key: "nonsense", body: track() });
    assert.deepEqual([refused.status, Number(refused.headers["retry-after"]) > 0], [429, true]);
    assert.equal((await sendSdk(app(), "/v1/track", { key, body: track() })).status, 200);
  });

  const counted: readonly (readonly [string, (key: string, other: string) => Promise<Answer>])[] = [
    ["a key of another kind", (_, other) => sendSdk(app(), "/v1/track", { key: other, body: track() })],
    [
      "keys that disagree in the head",
      (key, other) => sendSdk(app(), `/v1/t?writeKey=${other}`, { key, body: track() }),
    ],
    [
      "keys that disagree in head and body",
      (key, other) => sendSdk(app(), "/v1/t", { key, body: track({ writeKey: other }) }),
    ],
    [
      "keys that disagree in the body",
      (writeKey, other) => sendSdk(app(), "/v1/b", { body: { writeKey, batch: [track({ writeKey: other })] } }),
    ],
    ["a bearer key", (_, other) => app().send("POST", "/v1/batch", { key: other, body: { batch: [] } })],
  ];
  for (const [n, [name, ask]] of counted.entries())
    it(`count too: ${name}`, async () => {
      // An address of its own.
      const own = await startApp({ AUTH_FAILURES_PER_MINUTE: "3" });
      const standing = app;
      try {
        app = () => own;
        const workspace = await own.workspace();
        const [key, other] = [await workspace.key("collect"), await workspace.key("editor")];
        const statuses: number[] = [];
        for (let time = 0; time < 5; time += 1) statuses.push((await ask(key, other)).status);
        assert.deepEqual(statuses, [401, 401, 401, 429, 429], String(n));
        assert.equal((await sendSdk(own, "/v1/track", { key, body: track() })).status, 200, "a right key goes on");
      } finally {
        app = standing;
        await own.close();
      }
    });
});
