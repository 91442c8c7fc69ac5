import assert from "node:assert/strict";
import { logIn, ownPage } from "../../support/console/console.js";
import { listAt, startApp, textAt, useApp, type Sending } from "../../support/service/app.js";

type Headers = NonNullable<Sending["headers"]>;
const HOUR_MS = 3_600_000;

describe("The console's files", () => {
  const app = useApp();

  it("are a page that may run its own files and nothing else", async () => {
    const { status, headers, text } = await app().send("GET", "/console/");
    assert.deepEqual([status, headers["content-type"]], [200, "text/html; charset=utf-8"]);
    const policy = String(headers["content-security-policy"]).split(";");
    for (const [name, value] of Object.entries({
      "default-src": "'none'",
      "script-src": "'self'",
      "style-src": "'self'",
      "img-src": "'self' data:",
      "connect-src": "'self'",
      "base-uri": "'none'",
      "form-action": "'none'",
      "frame-ancestors": "'none'",
      "require-trusted-types-for": "'script'",
    }))
      assert.ok(policy.includes(`${name} ${value}`), name);
    assert.equal(policy.length, 9);
    assert.equal(headers["cross-origin-opener-policy"], "same-origin");
    assert.equal(headers["referrer-policy"], "no-referrer");
    for (const [, address] of text.matchAll(/(?:src|href)="([^"]+)"/g)) assert.match(address!, /^\.\/assets\/[\w.-]+$/);
  });

  it("load in less than 60 KB, as gzip where it is taken, and are kept for ever by the names that hold their hash", async () => {
    const page = await app().send("GET", "/console/");
    const names = [...page.text.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map(([, name]) => name!);
    assert.ok(names.length >= 2);
    const headers = { "Accept-Encoding": "gzip" };
    const sizes = await Promise.all(
      names.map(async (name) => {
        const response = await fetch(`${app().url}/console/${name}`, { headers });
        const plain = await app().send("GET", `/console/${name}`);
        assert.equal(response.headers.get("content-encoding"), "gzip");
        assert.equal(response.headers.get("vary"), "Accept-Encoding");
        assert.equal(response.headers.get("cache-control"), "public, max-age=31536000, immutable");
        assert.equal(plain.headers["content-encoding"], undefined);
        assert.equal(await response.text(), plain.text);
        return Number(response.headers.get("content-length"));
      }),
    );
    assert.ok(sizes.reduce((sum, size) => sum + size, 0) < 60_000, String(sizes));
  });

  it("are those of its build: no other file, and none above its folder", async () => {
    for (const name of ["nothing.js", "..%2findex.html", "..%2f..%2fapp%2fmain.js", ""])
      assert.equal((await app().send("GET", `/console/assets/${name}`)).status, 404, name);
    assert.equal((await app().send("GET", "/console")).headers["location"], "console/");
  });

  it("are where a browser comes from any other address below /console/, and a program is told that nothing is there", async () => {
    const headers = { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };
    for (const path of ["live", "profiles/1", "profiles/1/", "/evil.example", "session/x"]) {
      const { status, headers: given } = await app().send("GET", `/console/${path}`, { headers });
      assert.equal(status, 302, path);
      const there = new URL(String(given["location"]), `${app().url}/console/${path}`);
      assert.equal(there.href, `${app().url}/console/`, path);
      assert.equal((await app().send("GET", `/console/${path}`, { headers: { Accept: "*/*" } })).status, 404, path);
    }
    for (const path of ["assets/nothing.js", "assets/a/b", "assets/"])
      assert.equal((await app().send("GET", `/console/${path}`, { headers })).status, 404, path);
  });

  it("are not there with CONSOLE=off, and neither is the log-in", async () => {
    const off = await startApp({ CONSOLE: "off" });
    try {
      assert.equal(off.service.consoleUrl, null);
      const key = await (await off.workspace()).key("viewer");
      for (const [method, path] of [
        ["GET", "/console/"],
        ["GET", "/console"],
        ["GET", "/console/live"],
        ["POST", "/console/session"],
      ] as const)
        assert.equal(
          (await off.send(method, path, { headers: { ...ownPage(off.url), Accept: "text/html" } })).status,
          404,
          path,
        );
      const cookie = await logIn(app(), await (await app().workspace()).key("viewer"));
      const headers = { Cookie: cookie, "X-Onym-Console": "1" };
      assert.equal((await off.send("GET", "/v1/me", { headers })).status, 401);
      assert.equal((await off.send("GET", "/v1/me", { key })).status, 200);
    } finally {
      await off.close();
    }
  });
});

describe("A session of the console", () => {
  let ahead = 0;
  const app = useApp({ KEY_CACHE_MS: "0" }, { now: () => Date.now() + ahead });
  beforeEach(() => {
    ahead = 0;
  });
  const pair = (cookie: string): string => cookie.split(";")[0]!;
  const asking = (cookie: string, more: Headers = {}): Sending => ({
    headers: { Cookie: pair(cookie), "X-Onym-Console": "1", ...more },
  });
  const me = (cookie: string, more: Headers = {}) => app().send("GET", "/v1/me", asking(cookie, more));
  const logInWith = (key: string, headers: Headers = ownPage(app().url)) =>
    app().send("POST", "/console/session", { body: { key }, headers });

  it("is a cookie that no script reads, for eight hours, and without the key", async () => {
    const key = await (await app().workspace()).key("admin");
    const cookie = await logIn(app(), key);
    assert.match(cookie, /^onym=[\w-]+; HttpOnly; SameSite=Strict; Path=\/; Max-Age=28800$/);
    const sealed = Buffer.from(pair(cookie).slice("onym=".length), "base64url").toString("latin1");
    for (const part of key.split("_").slice(1)) assert.ok(!sealed.includes(part) && !cookie.includes(part));
  });

  it("opens /v1 as its key does: GET /v1/me says whose it is", async () => {
    const workspace = await app().workspace("Shop");
    const cookie = await logIn(app(), await workspace.key("viewer"));
    const { status, body } = await me(cookie);
    assert.equal(status, 200);
    assert.deepEqual(body["workspace"], { workspace_id: workspace.id, name: "Shop" });
    assert.equal((body["key"] as { role: string }).role, "viewer");
    assert.equal((await app().send("GET", "/v1/keys", asking(cookie))).status, 403);
    assert.deepEqual((await app().send("GET", "/console/session", asking(cookie))).body, { is_open: true });
    assert.deepEqual((await app().send("GET", "/console/session")).body, { is_open: false });
  });

  it("opens nothing without the header of the console's own page", async () => {
    const cookie = await logIn(app(), await (await app().workspace()).key("owner"));
    const headers = { Cookie: pair(cookie) };
    assert.equal((await app().send("GET", "/v1/me", { headers })).status, 401);
    assert.equal((await app().send("GET", "/v1/me", { headers: { ...headers, "X-Onym-Console": "yes" } })).status, 401);
    const body = { role: "viewer" };
    const written = { body, headers: { ...headers, ...ownPage(app().url) } };
    assert.equal((await app().send("POST", "/v1/keys", written)).status, 401);
  });

  it("writes nothing from a page of another origin", async () => {
    const cookie = await logIn(app(), await (await app().workspace()).key("owner"));
    const make = (headers: Headers) =>
      app().send("POST", "/v1/keys", { ...asking(cookie, headers), body: { role: "viewer" } });
    for (const headers of [{ Origin: "https://evil.example" }, { Origin: "null" }, {}])
      assert.equal((await make(headers)).status, 403, JSON.stringify(headers));
    // A page that has its own name point at this machine.
    const rebound = { Origin: "http://evil.example", Host: "evil.example" };
    assert.equal((await make(rebound)).status, 403);
    assert.equal((await make(ownPage(app().url))).status, 201);
  });

  it("is of one key: a page that shows another one reads and writes nothing, and is told why", async () => {
    const [shop, staging] = [await app().workspace("Shop"), await app().workspace("Staging")];
    const keyIdOf = async (key: string) => textAt((await app().send("GET", "/v1/me", { key })).body, "key.key_id");
    const [own, other] = [await keyIdOf(await shop.key("owner")), await keyIdOf(await staging.key("owner"))];
    const cookie = await logIn(app(), await staging.key("owner"));
    assert.equal((await me(cookie, { "X-Onym-Console-Key": other })).status, 200);
    const refused = await me(cookie, { "X-Onym-Console-Key": own });
    assert.equal(refused.status, 401);
    assert.match(refused.text, /logged in with another key/);
    const stream = await app().send("GET", "/v1/live?follow=true", asking(cookie, { "X-Onym-Console-Key": own }));
    assert.equal(stream.status, 401);
    const headers = { ...ownPage(app().url), "X-Onym-Console-Key": own };
    const made = await app().send("POST", "/v1/keys", { ...asking(cookie, headers), body: { role: "viewer" } });
    assert.equal(made.status, 401);
    assert.equal(listAt((await staging.send("GET", "/v1/keys")).body, "keys").length, 1);
  });

  it("ends after its time, also for who watches live events", async () => {
    const cookie = await logIn(app(), await (await app().workspace()).key("viewer"));
    const signal = AbortSignal.timeout(20_000);
    const headers = { Cookie: pair(cookie), "X-Onym-Console": "1" };
    const watched = await fetch(`${app().url}/v1/live?follow=true`, { headers, signal });
    assert.equal(watched.status, 200);
    ahead = 7.9 * HOUR_MS;
    assert.equal((await me(cookie)).status, 200);
    ahead = 8 * HOUR_MS;
    assert.equal((await me(cookie)).status, 401);
    for await (const _ of watched.body!);
  });

  it("ends when its key is revoked, and when it is rotated", async () => {
    const workspace = await app().workspace();
    for (const [method, rest] of [
      ["DELETE", ""],
      ["POST", "/rotate"],
    ] as const) {
      const made = await workspace.send("POST", "/v1/keys", { role: "viewer" });
      const cookie = await logIn(app(), String(made.body["key"]));
      assert.equal((await me(cookie)).status, 200);
      const ended = await workspace.send(method, `/v1/keys/${String(made.body["key_id"])}${rest}`);
      assert.ok(ended.status < 300, ended.text);
      assert.equal((await me(cookie)).status, 401, method);
    }
  });

  it("is of one installation: a cookie of another one, or a changed one, opens nothing", async () => {
    const workspace = await app().workspace();
    const cookie = await logIn(app(), await workspace.key("viewer"));
    const other = await startApp();
    try {
      assert.equal((await other.send("GET", "/v1/me", asking(cookie))).status, 401);
    } finally {
      await other.close();
    }
    const at = pair(cookie).length - 10;
    const changed = pair(cookie).slice(0, at) + (pair(cookie)[at] === "A" ? "B" : "A") + pair(cookie).slice(at + 1);
    for (const bad of [changed, "onym=", "onym=x", `onym=${"A".repeat(5_000)}`])
      assert.equal((await me(bad)).status, 401);
  });

  it("is not for keys that may only send", async () => {
    const workspace = await app().workspace();
    for (const caller of ["collect", "all"] as const) {
      const { status, headers } = await logInWith(await workspace.key(caller));
      assert.deepEqual([status, headers["set-cookie"]], [403, undefined]);
    }
  });

  it("is not for a key that was rotated, which is told the one that took its place", async () => {
    const workspace = await app().workspace();
    const made = await workspace.send("POST", "/v1/keys", { role: "viewer" });
    const next = await workspace.send("POST", `/v1/keys/${textAt(made.body, "key_id")}/rotate`, {});
    const { status, text, headers } = await logInWith(textAt(made.body, "key"));
    assert.deepEqual([status, headers["set-cookie"]], [403, undefined]);
    assert.match(text, new RegExp(`This key was rotated.*${textAt(next.body, "key_id")}`));
    assert.equal((await logInWith(textAt(next.body, "key"))).status, 204);
  });

  it("begins on the console's own page only", async () => {
    const key = await (await app().workspace()).key("viewer");
    assert.equal((await logInWith(key, {})).status, 403);
    assert.equal((await logInWith(key, { Origin: "https://evil.example" })).status, 403);
    const far = { Host: "10.0.0.7:8080", Origin: "http://10.0.0.7:8080" };
    assert.equal((await logInWith(key, far)).status, 403);
    for (const host of ["localhost:8080", "127.0.0.1", "[::1]:9"])
      assert.equal((await logInWith(key, { Host: host, Origin: `http://${host}` })).status, 204, host);
  });

  it("is ended by its page, and by no other", async () => {
    const end = (headers: Headers) => app().send("DELETE", "/console/session", { headers });
    assert.equal((await end({ Origin: "https://evil.example" })).status, 403);
    const { status, headers } = await end(ownPage(app().url));
    assert.equal(status, 204);
    assert.match(String(headers["set-cookie"]), /^onym=; .*Max-Age=0$/);
  });

  it("is not ended by a tab that shows another key, unless it is over", async () => {
    const workspace = await app().workspace();
    const cookie = await logIn(app(), await workspace.key("viewer"));
    const keyId = textAt((await me(cookie)).body, "key.key_id");
    const end = (shown: string) =>
      app().send("DELETE", "/console/session", asking(cookie, { ...ownPage(app().url), "X-Onym-Console-Key": shown }));
    const other = await end("another");
    assert.deepEqual([other.status, other.headers["set-cookie"]], [401, undefined]);
    assert.equal((await me(cookie)).status, 200);
    assert.match(String((await end(keyId)).headers["set-cookie"]), /Max-Age=0$/);
    assert.equal((await workspace.send("DELETE", `/v1/keys/${keyId}`)).status, 204);
    assert.match(String((await end("another")).headers["set-cookie"]), /Max-Age=0$/);
  });
});

describe("The log-in of the console", () => {
  const app = useApp({ AUTH_FAILURES_PER_MINUTE: "3" });

  it("counts wrong keys among the failed log-ins, and says what is wrong with a body", async () => {
    const key = await (await app().workspace()).key("viewer");
    const send = (body: unknown) => app().send("POST", "/console/session", { body, headers: ownPage(app().url) });
    const wrong = `${key.slice(0, 20)}${key[20] === "A" ? "B" : "A"}${key.slice(21)}`;
    const statuses: number[] = [];
    for (let i = 0; i < 5; i += 1) statuses.push((await send({ key: wrong })).status);
    assert.deepEqual(statuses, [401, 401, 401, 429, 429]);
    for (const [body, status] of [
      ["{", 400],
      [{}, 422],
      [{ key: 1 }, 422],
      [{ key: "k".repeat(300) }, 422],
      ["x".repeat(2_000), 422],
    ] as const)
      assert.equal((await send(body)).status, status);
  });
});

describe("Behind a proxy that does TLS, a session of the console", () => {
  const app = useApp({ PUBLIC_URL: "https://onym.example/in/" });
  const own = { Origin: "https://onym.example" };

  it("is a cookie of this host and of https alone, and the Origin is that of PUBLIC_URL", async () => {
    const workspace = await app().workspace();
    const key = await workspace.key("owner");
    const send = (headers: Headers) => app().send("POST", "/console/session", { body: { key }, headers });
    assert.equal((await send(ownPage(app().url))).status, 403);
    const { headers } = await send(own);
    const cookie = String(headers["set-cookie"]);
    assert.match(cookie, /^__Host-onym=[\w-]+; HttpOnly; SameSite=Strict; Path=\/; Secure; Max-Age=28800$/);
    const asked = { Cookie: cookie.split(";")[0]!, "X-Onym-Console": "1" };
    const make = (origin: Headers) =>
      app().send("POST", "/v1/keys", { headers: { ...asked, ...origin }, body: { role: "viewer" } });
    assert.equal((await make(own)).status, 201);
    assert.equal((await make(ownPage(app().url))).status, 403);
    // The same cookie under the name that any page of the domain could set.
    const renamed = { ...asked, Cookie: asked.Cookie.replace("__Host-", "") };
    assert.equal((await app().send("GET", "/v1/me", { headers: renamed })).status, 401);
  });
});

describe("At a PUBLIC_URL without TLS", () => {
  const app = useApp({ PUBLIC_URL: "http://onym.example" });

  it("nobody logs in to the console", async () => {
    const key = await (await app().workspace()).key("viewer");
    const headers = { Origin: "http://onym.example" };
    const { status, text } = await app().send("POST", "/console/session", { body: { key }, headers });
    assert.equal(status, 403);
    assert.match(text, /only over https/);
  });
});
