import assert from "node:assert/strict";
import { exportLinks } from "../../commands/exports/links.js";
import { identifierKey } from "../../core/event/event.js";
import type { Identity } from "../../core/identity/api.js";
import { pairKey, type LinkState } from "../../core/identity/model.js";
import { newId, type ChangeId, type WorkspaceId } from "../../core/ids.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { takenBy } from "../../graph/restore/taken.js";
import { aWorkspace, anIdentifier } from "../support/identity/fixtures.js";
import { aChange } from "../support/identity/plans.js";
import { useApp } from "../support/service/app.js";

const identifiers = ["a", "b", "c", "d"].map((name) => ({ namespace: "email", value: `${name}@example.com` }));

describe("An export of links", () => {
  const app = useApp();

  it("that goes on behind any of its lines leaves out none", async () => {
    const workspace = await app().workspace();
    const id = workspace.id as WorkspaceId;
    assert.equal((await workspace.send("POST", "/v1/identify", { identifiers })).status, 200);
    const { status, text } = await workspace.send("POST", "/v1/identity/unlink", { identifier: identifiers[0] });
    assert.equal(status, 200, text);
    const services = { identity: app().service.identity };
    const all = [];
    for await (const some of exportLinks(services, id, null)) all.push(...some);
    const texts = (some: readonly object[]) =>
      some.map((one) =>
        JSON.stringify({ ...one, place: null }, (_, value: unknown) => (value instanceof Map ? [...value] : value)),
      );
    const placed = all.filter((one) => "place" in one);
    for (const kind of ["link", "taken"])
      assert.ok(placed.filter(({ place }) => place.kind === kind).length > 1, "the change has several lines");
    for (const [n, one] of placed.entries()) {
      const rest: object[] = [];
      for await (const some of exportLinks(services, id, one.place)) rest.push(...some);
      const lacking = texts(placed.slice(n + 1)).filter((line) => !texts(rest).includes(line));
      assert.deepEqual(lacking, [], `behind line ${n}`);
    }
  });

  it("reads what one change removed a few thousand links at a time", async () => {
    const workspace = aWorkspace();
    const hub = anIdentifier("hub");
    const change = aChange({ identifiers: [hub] });
    const { changeId: by } = change;
    const keyOf = (value: string) => identifierKey(workspace, anIdentifier(value));
    const removed = Array.from({ length: 12_000 }, (_, n): LinkState => {
      return { pair: [keyOf("hub"), keyOf(`p${n}`)], changeId: newId<ChangeId>(), by, isActive: false };
    });
    const pages: number[] = [];
    const graph = {
      linksRemovedBy: async (_workspace, _change, { limit, after }) => {
        const from = Number(after ?? 0);
        const links = removed.slice(from, from + limit);
        pages.push(links.length);
        return { links, next: from + limit < removed.length ? String(from + limit) : null };
      },
      isUnlinkedBy: async () => true,
      read: async (_workspace, { keys, pairs }) =>
        ({
          identifiers: new Map(keys.map((key) => [key, { unlinkedAt: 7 }])),
          removed: new Map(pairs.map((pair) => [pairKey(...pair), { by, at: 7 }])),
        }) as never,
    } satisfies Pick<IdentityGraph, "linksRemovedBy" | "isUnlinkedBy" | "read">;
    const identity: Partial<Identity> = {
      walk: async () => [],
      forbiddenPairs: async () => [],
      changes: async (_workspace, outcome) => (outcome === "unlinked" ? [change] : []),
      takenBy: (...asked) => takenBy(graph, ...asked),
    };
    const lines = [];
    for await (const some of exportLinks({ identity: identity as Identity }, workspace, null)) lines.push(...some);
    assert.deepEqual(
      lines.map((one) => (one.kind === "removed_link" ? one.link.to.value : one.kind)),
      [...removed.keys()].map((n) => `p${n}`).concat("unlinked"),
    );
    assert.ok(Math.max(...pages) <= 5_000, pages.join(", "));
    const through = lines.flatMap((one, n) =>
      "place" in one && one.place.kind === "taken" && one.place.before === by ? [n] : [],
    );
    assert.deepEqual(through, [12_000], "only behind the last line the change is through");
  });
});
