import assert from "node:assert/strict";
import { at, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";
import { basic } from "../../support/sdk/client.js";

describe("What the browsers' SDKs ask for first", () => {
  const app = useApp({ PUBLIC_URL: "https://onym.example/in/" });
  let workspace: TestWorkspace;
  let key: string;
  before(async () => {
    workspace = await app().workspace();
    key = await workspace.key("collect");
  });
  const settings = (headers: object = {}) =>
    app().send("GET", `/v1/projects/${key}/settings`, { headers: { Origin: "https://shop.example", ...headers } });
  const sourceConfig = () =>
    app().send("GET", `/sourceConfig/?p=npm&v=3.34.1&build=modern&writeKey=${key}&lockIntegrationsVersion=false`, {
      headers: { Authorization: basic(key) },
    });

  it("steers Segment's to the address of the setting, whatever Host says", async () => {
    const answer = await settings({ Host: "thief.example" });
    assert.deepEqual(at(answer.body, "integrations"), {
      "Segment.io": { apiKey: key, apiHost: "onym.example/in/v1", protocol: "https" },
    });
    assert.equal(answer.headers["access-control-allow-origin"], "*");
    assert.ok(!answer.text.includes("thief"));
  });

  it("lets RudderStack's send, without its own statistics", async () => {
    const { status, body } = await sourceConfig();
    assert.deepEqual([status, at(body, "source.writeKey"), at(body, "source.enabled")], [200, key, true]);
    assert.deepEqual(at(body, "source.config"), {
      statsCollection: { errors: { enabled: false }, metrics: { enabled: false } },
    });
    assert.deepEqual(at(body, "source.destinations"), []);
    assert.equal((await app().send("GET", "/sourceConfig", {})).status, 401);
  });

  it("warns while user_id has no limit", async () => {
    const codesOf = async (ask: typeof settings | typeof sourceConfig) => {
      const { body } = await ask();
      return (body["warnings"] as readonly { readonly code: string }[]).map(({ code }) => code);
    };
    for (const ask of [settings, sourceConfig]) assert.deepEqual(await codesOf(ask), ["user_id_without_limit"]);
    const said = textAt((await settings()).body, "warnings.0.message");
    assert.match(said, /This key cannot join two of them, but identify and alias with other keys can/);
    assert.equal((await workspace.send("PUT", "/v1/namespaces/user_id", { limit: 1 })).status, 200);
    for (const ask of [settings, sourceConfig]) assert.deepEqual(await codesOf(ask), []);
  });
});

describe("Without PUBLIC_URL", () => {
  const app = useApp();

  it("the address is the one that the service listens on", async () => {
    const key = await (await app().workspace()).key("collect");
    const { body } = await app().send("GET", `/v1/projects/${key}/settings`);
    const { host } = new URL(app().url);
    assert.deepEqual(at(body, "integrations"), {
      "Segment.io": { apiKey: key, apiHost: `${host}/v1`, protocol: "http" },
    });
  });
});
