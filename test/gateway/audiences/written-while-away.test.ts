import assert from "node:assert/strict";
import type { Backends } from "../../../app/backends.js";
import { AppError } from "../../../core/errors.js";
import { listAt, textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

const RULE = {};
const URL = "https://hooks.example.com/onym";

describe("What is written is answered, also where the store is away right after", () => {
  let [isWatched, hasWritten] = [false, false];
  const wrap = (backends: Backends): Backends => {
    const { audiences, catalog, seats, webhooks } = backends;
    const whileThere = <T>(read: () => Promise<T>): Promise<T> =>
      isWatched && hasWritten ? Promise.reject(new AppError("unavailable", "away")) : read();
    const writing = <T>(written: Promise<T>): Promise<T> => written.finally(() => (hasWritten = isWatched));
    return {
      ...backends,
      audiences: {
        ...audiences,
        audiences: (...given) => whileThere(() => audiences.audiences(...given)),
        changeAudiences: async (...given) => {
          const { version } = await audiences.audiences(given[0]);
          const set = await audiences.changeAudiences(...given);
          // A creation looks at them before.
          if (isWatched && set.version !== version) hasWritten = true;
          return set;
        },
      },
      catalog: { ...catalog, secret: () => whileThere(() => catalog.secret()) },
      seats: { ...seats, sizes: (...given) => whileThere(() => seats.sizes(...given)) },
      webhooks: {
        ...webhooks,
        createWebhook: (...given) => writing(webhooks.createWebhook(...given)),
        changeWebhook: (...given) => writing(webhooks.changeWebhook(...given)),
      },
    };
  };
  const app = useApp({}, { wrap });
  let workspace: TestWorkspace;
  beforeEach(async () => {
    workspace = await app().workspace();
  });
  afterEach(() => (isWatched = false));
  const written = async (method: string, target: string, body?: object) => {
    // It changes them too.
    await app().service.keeper!.rest();
    [isWatched, hasWritten] = [true, false];
    const answer = await workspace.send(method, target, body);
    isWatched = false;
    assert.ok(hasWritten, answer.text);
    return answer;
  };

  it("an audience that is created or changed", async () => {
    await workspace.send("POST", "/v1/audiences", { name: "first", rule: RULE });
    const made = await written("POST", "/v1/audiences", { name: "second", rule: RULE });
    assert.deepEqual([made.status, made.body["size"]], [201, 0], made.text);
    const target = `/v1/audiences/${textAt(made.body, "audience_id")}`;
    const changed = await written("PUT", target, { name: "other" });
    assert.deepEqual([changed.status, changed.body["name"], changed.body["version"]], [200, "other", 2], changed.text);
    assert.deepEqual((await workspace.send("GET", target)).body, changed.body);
  });

  it("a webhook that is created, resumed or rotated, with its secret", async () => {
    const made = await written("POST", "/v1/webhooks", { url: URL });
    assert.equal(made.status, 201, made.text);
    const target = `/v1/webhooks/${textAt(made.body, "webhook_id")}`;
    const rotated = await written("POST", `${target}/rotate`);
    assert.equal(rotated.status, 200, rotated.text);
    assert.match(textAt(rotated.body, "secret"), /^whsec_/);
    assert.notEqual(rotated.body["secret"], made.body["secret"]);
    const resumed = await written("POST", `${target}/resume`, {});
    assert.equal(resumed.status, 200, resumed.text);
    const { body } = await workspace.send("GET", "/v1/webhooks");
    assert.deepEqual(listAt(body, "webhooks"), [resumed.body]);
  });
});
