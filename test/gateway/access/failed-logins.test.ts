import assert from "node:assert/strict";
import { openBackends } from "../../../app/backends.js";
import { createLifecycle } from "../../../app/lifecycle.js";
import { silentLog } from "../../../app/logger.js";
import { keyIdOf, mintKey } from "../../../core/catalog/api-key.js";
import { readConfig } from "../../../core/config.js";
import { createSketch } from "../../../gateway/access/failed-logins.js";
import { withFolder } from "../../support/faults.js";
import { forge } from "../../support/random/forge.js";
import { OPERATOR_KEY, send, useApp, type Answer } from "../../support/service/app.js";

const NAMESPACES = "/v1/namespaces";
const MINUTE_MS = 60_000;
const statusOf = ({ status }: Answer): number => status;
const times = async <T>(count: number, work: () => Promise<T>): Promise<readonly T[]> => {
  const all: T[] = [];
  for (let n = 0; n < count; n += 1) all.push(await work());
  return all;
};
const TWENTY_401 = Array.from({ length: 20 }, () => 401);

describe("Failed authentications", () => {
  let aheadMs = 0;
  const app = useApp({ AUTH_FAILURES_PER_MINUTE: "20", TRUST_PROXY: "1" }, { now: () => Date.now() + aheadMs });
  const from = (address: string, key: string | null, target = NAMESPACES) =>
    send(app().url, "GET", target, { key, headers: { "X-Forwarded-For": address } });
  const fail = async (address: string, key: string | null, target = NAMESPACES) =>
    (await times(20, () => from(address, key, target))).map(statusOf);
  const wrongOf = (key: string): string => forge(keyIdOf(key)!);

  it("are 20 a minute for one key id from one address; then 429 with Retry-After, right or wrong, until the window ends", async () => {
    const key = await (await app().workspace()).key("viewer");
    const address = "203.0.113.7";
    assert.deepEqual(await fail(address, wrongOf(key)), TWENTY_401);
    for (const tried of [key, wrongOf(key)]) {
      const refused = await from(address, tried);
      assert.deepEqual([refused.status, refused.body["code"]], [429, "rate_limited"]);
      assert.ok(Number(refused.headers["retry-after"]) >= 1);
      assert.ok(refused.headers["ratelimit"] !== undefined && refused.headers["ratelimit-policy"] !== undefined);
    }
    assert.equal((await from("203.0.113.8", key)).status, 200, "from elsewhere it is right");
    assert.equal((await from(address, key)).status, 429);
    aheadMs += MINUTE_MS;
    assert.equal((await from(address, key)).status, 200, "in the next window");
  });

  it("stop no other key of that address", async () => {
    const workspace = await app().workspace();
    const [tried, other] = [await workspace.key("viewer"), await workspace.key("editor")];
    const address = "203.0.113.20";
    await fail(address, wrongOf(tried));
    assert.equal((await from(address, tried)).status, 429);
    assert.equal((await from(address, other)).status, 200);
    await Promise.all(Array.from({ length: 100 }, () => from(address, mintKey().key)));
    assert.equal((await from(address, await workspace.key("admin"))).status, 200, "whatever ids were tried");
  });

  it("do not stop a key that was right from there within the last hour, not even behind a hundred more", async () => {
    const key = await (await app().workspace()).key("viewer");
    const address = "203.0.113.30";
    assert.equal((await from(address, key)).status, 200);
    await fail(address, wrongOf(key));
    await times(100, () => from(address, wrongOf(key)));
    assert.equal((await from(address, wrongOf(key))).status, 429);
    assert.equal((await from(address, key)).status, 200);
    aheadMs += 61 * MINUTE_MS;
    await fail(address, wrongOf(key));
    assert.equal((await from(address, key)).status, 429, "an hour later it is as unknown there as any");
  });

  it("with the operator key are counted in the same way", async () => {
    const target = "/v1/workspaces";
    const address = "203.0.113.40";
    assert.deepEqual(await fail(address, "wrong-operator-key", target), TWENTY_401);
    assert.equal((await from(address, OPERATOR_KEY, target)).status, 429);
    assert.equal((await from("203.0.113.41", OPERATOR_KEY, target)).status, 200);
    await fail("203.0.113.41", "wrong-operator-key", target);
    assert.equal((await from("203.0.113.41", "wrong-operator-key", target)).status, 429);
    assert.equal((await from("203.0.113.41", OPERATOR_KEY, target)).status, 200, "right from there a moment ago");
  });

  it("without a key, or with what is no key, are 429 as well, and stop no key", async () => {
    const address = "203.0.113.50";
    assert.deepEqual(await fail(address, null), TWENTY_401);
    assert.deepEqual([await from(address, null), await from(address, "onym_no")].map(statusOf), [429, 429]);
    assert.equal((await from(address, await (await app().workspace()).key("viewer"))).status, 200);
  });

  it("from one IPv6 network count as from one address", async () => {
    for (let i = 0; i < 20; i++) await from(`2001:db8:0:1::${i + 1}`, null);
    assert.equal((await from("2001:db8:0:1::ffff", null)).status, 429);
    assert.equal((await from("2001:db8:1:1::1", null)).status, 401);
  });
});

describe("Failed authentications without a trusted proxy", () => {
  const app = useApp({ AUTH_FAILURES_PER_MINUTE: "3" });

  it("count by the address of the connection, whatever X-Forwarded-For says", async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) {
      const headers = { "X-Forwarded-For": `203.0.113.${i}`, Forwarded: `for=203.0.113.${i}` };
      statuses.push((await app().send("GET", NAMESPACES, { headers })).status);
    }
    assert.deepEqual(statuses, [401, 401, 401, 429, 429]);
  });
});

describe("The table of failed authentications", () => {
  const FLOOD = 60_000;

  it("forgets no login under a flood of others, and counts hardly any too high", () => {
    const sketch = createSketch(() => 1_000);
    for (let n = 0; n < 19; n += 1) sketch.add("victim", MINUTE_MS);
    // Half of them as an attacker would who wants to fill cells: 20 wrong secrets for each.
    for (let n = 0; n < FLOOD / 40; n += 1) for (let k = 0; k < 20; k += 1) sketch.add(`spent ${n}`, MINUTE_MS);
    for (let n = 0; n < FLOOD / 2; n += 1) sketch.add(`one ${n}`, MINUTE_MS);
    assert.equal(sketch.add("victim", MINUTE_MS).hits, 20);
    const refused = Array.from({ length: 10_000 }, (_, n) => sketch.count(`good ${n}`)).filter((hits) => hits >= 20);
    assert.ok(refused.length <= 5, `${refused.length} of 10,000 that never failed`);
  });

  it("ends its window also when the clock was set back", () => {
    const clock = { now: 7_200_000 };
    const sketch = createSketch(() => clock.now);
    assert.deepEqual(sketch.add("a", MINUTE_MS), { hits: 1, resetAt: 7_260_000 });
    clock.now -= 3_600_000;
    assert.deepEqual(sketch.add("a", MINUTE_MS), { hits: 1, resetAt: 3_660_000 });
  });
});

describe("The inline limit of a workspace", () => {
  it("is not reset by failed authentications from more addresses than a table holds", () =>
    withFolder(async (folder) => {
      const lifecycle = createLifecycle(silentLog);
      const { windows } = await openBackends(readConfig({ DATA_DIR: folder }), silentLog, lifecycle);
      const [inline, failures] = [windows(), windows()];
      await inline.hit("inline-validation:w", MINUTE_MS);
      for (let n = 0; n < 10_200; n += 1) await failures.hit(`authentication:${n}`, MINUTE_MS);
      assert.equal((await inline.hit("inline-validation:w", MINUTE_MS)).hits, 2);
      await lifecycle.close();
    }));
});
