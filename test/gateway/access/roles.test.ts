import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Route } from "../../../gateway/route.js";
import type { Services } from "../../../commands/services.js";
import { createRoutes } from "../../../gateway/routes.js";
import { OPERATOR_KEY, useApp, type Caller, type TestWorkspace } from "../../support/service/app.js";

/** What the design says. The table of the code must say the same, and the service must do it. */
type Declared = "viewer" | "editor" | "admin" | "owner" | "operator" | "write_key" | "open";
const DECLARED: Readonly<Record<string, Declared>> = {
  "POST /v1/collect": "editor",
  "POST /v1/collect/batch": "editor",
  "POST /v1/identify": "editor",
  "POST /v1/alias": "editor",
  "POST /v1/profiles/lookup": "viewer",
  "POST /v1/profiles/search": "viewer",
  "POST /v1/profiles/count": "viewer",
  "POST /v1/profiles/top": "viewer",
  "POST /v1/audiences": "editor",
  "GET /v1/audiences": "viewer",
  "GET /v1/audiences/:id": "viewer",
  "GET /v1/audiences/:id/members": "viewer",
  "POST /v1/audiences/preview": "viewer",
  "PUT /v1/audiences/:id": "editor",
  "DELETE /v1/audiences/:id": "editor",
  "GET /v1/feed": "viewer",
  "POST /v1/webhooks": "admin",
  "GET /v1/webhooks": "admin",
  "GET /v1/webhooks/:id": "admin",
  "DELETE /v1/webhooks/:id": "admin",
  "POST /v1/webhooks/:id/resume": "admin",
  "POST /v1/webhooks/:id/rotate": "admin",
  "POST /v1/webhooks/:id/test": "admin",
  "GET /v1/profiles": "viewer",
  "GET /v1/profiles/:id": "viewer",
  "GET /v1/profiles/:id/events": "viewer",
  "GET /v1/profiles/:id/identifiers": "viewer",
  "GET /v1/profiles/:id/graph": "viewer",
  "POST /v1/profiles/:id/outline": "viewer",
  "GET /v1/profiles/:id/history": "viewer",
  "GET /v1/profiles/:id/traits": "viewer",
  "GET /v1/events": "viewer",
  "GET /v1/events/:id": "viewer",
  "GET /v1/exports/catalog": "admin",
  "GET /v1/exports/changes": "admin",
  "GET /v1/exports/events": "admin",
  "GET /v1/exports/links": "admin",
  "GET /v1/exports/profiles": "admin",
  "DELETE /v1/imports": "admin",
  "POST /v1/imports": "admin",
  "POST /v1/imports/lines": "admin",
  "DELETE /v1/profiles/:id": "admin",
  "POST /v1/erasures": "admin",
  "GET /v1/erasures": "admin",
  "GET /v1/erasures/:id": "admin",
  "POST /v1/erasures/check": "admin",
  "POST /v1/erasures/:id/readmit": "admin",
  "POST /v1/identity/explain": "viewer",
  "GET /v1/identity/shared-identifiers": "viewer",
  "POST /v1/identity/unlink": "admin",
  "POST /v1/changes/:id/revert": "admin",
  "GET /v1/identity/forbidden-pairs": "viewer",
  "DELETE /v1/identity/forbidden-pairs/:id": "admin",
  "GET /v1/changes": "viewer",
  "GET /v1/changes/:id": "viewer",
  "POST /v1/schemas": "admin",
  "GET /v1/schemas": "viewer",
  "GET /v1/schemas/:id": "viewer",
  "POST /v1/schemas/:id/versions": "admin",
  "GET /v1/schemas/:id/versions": "viewer",
  "GET /v1/schemas/:id/versions/:version": "viewer",
  "POST /v1/datasets": "admin",
  "GET /v1/datasets": "viewer",
  "GET /v1/datasets/:id": "viewer",
  "PATCH /v1/datasets/:id": "admin",
  "POST /v1/datasets/:id/backfill": "admin",
  "GET /v1/backfills": "viewer",
  "GET /v1/backfills/:id": "viewer",
  "DELETE /v1/backfills/:id": "admin",
  "GET /v1/namespaces": "viewer",
  "GET /v1/namespaces/:name": "viewer",
  "PUT /v1/namespaces/:name": "admin",
  "GET /v1/identity/settings": "viewer",
  "PUT /v1/identity/settings": "admin",
  "GET /v1/sdk/settings": "viewer",
  "GET /v1/live": "viewer",
  "GET /v1/me": "viewer",
  "GET /v1/stats": "viewer",
  "PUT /v1/sdk/settings": "admin",
  "GET /v1/sdk/plan": "viewer",
  "PUT /v1/sdk/plan": "admin",
  "GET /v1/dead-letters": "admin",
  "GET /v1/dead-letters/:id": "admin",
  "DELETE /v1/dead-letters/:id": "admin",
  "POST /v1/dead-letters/replay": "admin",
  "POST /v1/keys": "owner",
  "GET /v1/keys": "owner",
  "DELETE /v1/keys/:id": "owner",
  "POST /v1/keys/:id/rotate": "owner",
  "POST /v1/workspaces": "operator",
  "GET /v1/workspaces": "operator",
  "POST /v1/workspaces/:id/keys": "operator",
  "POST /v1/batch": "write_key",
  "POST /v1/track": "write_key",
  "POST /v1/page": "write_key",
  "POST /v1/screen": "write_key",
  "POST /v1/i": "write_key",
  "POST /v1/group": "write_key",
  "POST /v1/a": "write_key",
  "POST /v1/import": "admin",
  "POST /v1/m": "open",
  "GET /v1/projects/:key/settings": "write_key",
  "GET /sourceConfig": "write_key",
};
const SENDING = {
  collect: new Set(["POST /v1/collect", "POST /v1/collect/batch"]),
  all: new Set(["POST /v1/collect", "POST /v1/collect/batch", "POST /v1/identify", "POST /v1/alias"]),
};
const CALLERS = ["viewer", "editor", "admin", "owner", "collect", "all"] as const satisfies readonly Caller[];
const RANK = ["viewer", "editor", "admin", "owner"];

/** The table needs no ports until a route is called. */
const routes: readonly Route[] = createRoutes({ limits: { identifiersMax: 20 } } as unknown as Services);
const nameOf = ({ method, path }: Route): string => `${method.toUpperCase()} ${path}`;

const expected = (name: string, caller: Caller | "operator" | "nobody"): "allowed" | 401 | 403 => {
  const declared = DECLARED[name]!;
  if (declared === "open") return "allowed";
  // Its key is never a bearer key: see `sdk/write-key.test.ts`.
  if (declared === "write_key") return 401;
  if (declared === "operator" || caller === "operator") return declared === caller ? "allowed" : 401;
  if (caller === "nobody") return 401;
  if (caller === "collect" || caller === "all") return SENDING[caller].has(name) ? "allowed" : 403;
  return RANK.indexOf(caller) >= RANK.indexOf(declared) ? "allowed" : 403;
};

describe("The table of routes", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  before(async () => {
    workspace = await app().workspace();
  });
  /** With an id that nothing has, and a body that no route takes for good. */
  const call = (route: Route, key: string | null) => {
    const target = route.path.replace(":id", randomUUID()).replace(":name", "none").replace(":version", "1");
    return app().send(route.method.toUpperCase(), target, { key, ...(route.body !== undefined && { body: "[]" }) });
  };

  it("declares for every route what the design says, and no route beside those", () => {
    const shown = Object.fromEntries(
      routes.map((route) => [nameOf(route), route.access.kind === "role" ? route.access.role : route.access.kind]),
    );
    assert.deepEqual(shown, DECLARED);
    const sending = (sends: readonly unknown[]) =>
      new Set(routes.filter(({ access }) => access.kind === "role" && sends.includes(access.send)).map(nameOf));
    assert.deepEqual({ collect: sending(["collect"]), all: sending(["collect", "all"]) }, SENDING);
  });

  it("puts every route under /v1", () => {
    const others = routes.filter(({ path }) => !path.startsWith("/v1/"));
    assert.deepEqual(others.map(nameOf), ["GET /sourceConfig"], "only RudderStack's SDK asks elsewhere");
  });

  for (const caller of [...CALLERS, "operator", "nobody"] as const)
    it(`lets ${caller === "nobody" ? "a caller without a key" : `the ${caller} key`} do what is declared and nothing else`, async () => {
      const key = caller === "nobody" ? null : caller === "operator" ? OPERATOR_KEY : await workspace.key(caller);
      for (const route of routes) {
        const name = nameOf(route);
        const { status, body, headers } = await call(route, key);
        const got = status === 401 || status === 403 ? status : "allowed";
        assert.equal(got, expected(name, caller), `${name}: ${status}`);
        if (got === "allowed") assert.ok(status < 500, `${name}: ${status}`);
        if (got === 401) assert.match(String(headers["www-authenticate"]), /^Bearer/);
        if (got === 403) assert.equal(body["code"], "insufficient_scope");
      }
    });

  it("rejects a read-only key used for a write with 403: sending data needs the role editor or higher", async () => {
    for (const target of ["/v1/collect", "/v1/identify", "/v1/alias"]) {
      const answer = await workspace.as("viewer", "POST", target, {});
      assert.deepEqual([answer.status, answer.body["code"]], [403, "insufficient_scope"], target);
      for (const caller of ["editor", "admin", "owner"] as const)
        assert.equal((await workspace.as(caller, "POST", target, {})).status, 422, target);
    }
  });

  it("refuses by role before it looks at the body or tells whether an id exists", async () => {
    const known = await workspace.send("GET", "/v1/keys");
    const keyId = (known.body["keys"] as readonly { readonly key_id: string }[])[0]!.key_id;
    const bodies = [keyId, "none"].map(async (id) => (await workspace.as("viewer", "DELETE", `/v1/keys/${id}`)).body);
    const [real, unknown] = await Promise.all(bodies);
    assert.deepEqual({ ...real, request_id: "" }, { ...unknown, request_id: "" });
    assert.equal((await workspace.as("viewer", "POST", "/v1/collect", "{")).status, 403);
  });
});
