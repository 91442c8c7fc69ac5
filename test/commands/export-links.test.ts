import assert from "node:assert/strict";
import type { LinkPlace, LinkRecord } from "../../commands/exports/link-records.js";
import { exportLinks } from "../../commands/exports/links.js";
import { identifierKey } from "../../core/event/event.js";
import type { Identity } from "../../core/identity/api.js";
import { pairKey, type LinkState } from "../../core/identity/model.js";
import {
  firstIdAt,
  newId,
  type ChangeId,
  type ForbiddenPairId,
  type ProfileId,
  type Uid,
  type WorkspaceId,
} from "../../core/ids.js";
import type { IdentityGraph } from "../../core/ports/identity-graph.js";
import { takenBy } from "../../graph/restore/taken.js";
import { aWorkspace, anIdentifier } from "../support/identity/fixtures.js";
import { aChange } from "../support/identity/plans.js";
import { textAt, useApp, type TestWorkspace } from "../support/service/app.js";

const identifiers = ["a", "b", "c", "d"].map((name) => ({ namespace: "email", value: `${name}@example.com` }));

describe("An export of links", () => {
  const app = useApp();

  it("that goes on behind any of its lines leaves out none", async () => {
    const workspace = await app().workspace();
    const id = workspace.id as WorkspaceId;
    assert.equal((await workspace.send("POST", "/v1/identify", { identifiers })).status, 200);
    const { status, text } = await workspace.send("POST", "/v1/identity/unlink", { identifier: identifiers[0] });
    assert.equal(status, 200, text);
    for (const to of identifiers.slice(1, 3)) {
      const asked = { from: identifiers[0], to, forbid: true };
      assert.equal((await workspace.send("POST", "/v1/identity/unlink", asked)).status, 200);
    }
    const services = { identity: app().service.identity };
    const all: LinkRecord[] = [];
    for await (const some of exportLinks(services, id, null)) all.push(...some);
    const texts = (some: readonly object[]) =>
      some.map((one) =>
        JSON.stringify({ ...one, place: null }, (_, value: unknown) => (value instanceof Map ? [...value] : value)),
      );
    for (const kind of ["forbidden_pair", "link", "taken"])
      assert.ok(all.filter(({ place }) => place.kind === kind).length > 1, `there are several of ${kind}`);
    for (const [n, one] of all.entries()) {
      const rest: LinkRecord[] = [];
      for await (const some of exportLinks(services, id, one.place)) rest.push(...some);
      const lacking = texts(all.slice(n + 1)).filter((line) => !texts(rest).includes(line));
      assert.deepEqual(lacking, [], `behind line ${n}`);
    }
  });

  it("sends forbidden pairs before all links, also where it goes on with a position of a build that sent them behind", async () => {
    const workspace = await app().workspace();
    const id = workspace.id as WorkspaceId;
    const [a, b, c, d] = identifiers;
    await workspace.send("POST", "/v1/identify", { identifiers: [a, b] });
    await workspace.send("POST", "/v1/identify", { identifiers: [c, d] });
    await workspace.send("POST", "/v1/identity/unlink", { from: a, to: c, forbid: true });
    const kindsBehind = async (after: LinkPlace | null, hasPairs?: boolean): Promise<readonly string[]> => {
      const kinds: string[] = [];
      for await (const some of exportLinks({ identity: app().service.identity }, id, after, hasPairs))
        kinds.push(...some.map(({ kind }) => kind));
      return [...new Set(kinds)];
    };
    assert.deepEqual(await kindsBehind(null), ["forbidden_pair", "link"]);
    const walk = { kind: "link", profileId: "" as ProfileId, from: "" as Uid, to: "" as Uid } as const;
    assert.deepEqual(await kindsBehind({ ...walk, since: firstIdAt(0) }, false), ["forbidden_pair", "link"]);
    const behind = { kind: "forbidden_pair", forbiddenPairId: "" as ForbiddenPairId, since: null } as const;
    assert.deepEqual(await kindsBehind(behind), ["forbidden_pair"], "it has all links already");
  });

  const id = (value: string) => ({ namespace: "email", value: `${value}@example.com` });
  /** The two ends of each active link, where the walk has passed everybody before somebody `meanwhile` does something. */
  const linked = async (workspace: TestWorkspace, meanwhile: Partial<Identity>) => {
    const identity: Identity = { ...app().service.identity, walk: async () => [], ...meanwhile };
    const found = [];
    for await (const some of exportLinks({ identity }, workspace.id as WorkspaceId, null)) found.push(...some);
    const ends = found.flatMap((one) => (one.kind === "link" ? [[one.link.from, one.link.to]] : []));
    const named = await identity.identifiersOf(workspace.id as WorkspaceId, ends.flat());
    const nameOf = (uid: Uid) => named.get(uid)?.value.replace("@example.com", "") ?? "";
    return ends.map(([one, other]) => [nameOf(one!), nameOf(other!)].toSorted((a, b) => (a < b ? -1 : 1)).join());
  };

  it("looks at undos of shortly before, too: they move profiles for minutes under the id that they began with", async () => {
    const workspace = await app().workspace();
    const identify = (...some: readonly object[]) => workspace.send("POST", "/v1/identify", { identifiers: some });
    await identify(id("p"), id("p2"));
    await identify(id("q"), id("q2"));
    await identify(id("p"), id("q"));
    const { body } = await workspace.send("POST", "/v1/identity/unlink", { from: id("p"), to: id("q") });
    const { status, text } = await workspace.send("POST", `/v1/changes/${textAt(body, "change_id")}/revert`);
    assert.equal(status, 200, text);
    await identify(id("single"));
    assert.deepEqual((await linked(workspace, {})).toSorted(), ["p,p2", "p,q", "q,q2"]);
  });

  it("has the links of a part that is split off while it looks at what moved", async () => {
    const workspace = await app().workspace();
    const call = async (path: string, body: object) => {
      const { status, text } = await workspace.send("POST", path, body);
      assert.equal(status, 200, text);
    };
    const { identity } = app().service;
    await call("/v1/identify", { identifiers: [id("n")] });
    await call("/v1/identify", { identifiers: [id("m1"), id("m2"), id("m3")] });
    let isFirst = true;
    const found = await linked(workspace, {
      walk: async () => {
        await call("/v1/identify", { identifiers: [id("n"), id("m2")] });
        return [];
      },
      resolveAll: async (...asked) => {
        if (isFirst) {
          isFirst = false;
          await call("/v1/identity/unlink", { from: id("n"), to: id("m2") });
          await call("/v1/identity/unlink", { identifier: id("m1") });
        }
        return identity.resolveAll(...asked);
      },
    });
    assert.deepEqual([...new Set(found)], ["m2,m3"]);
  });

  const created = (ageMs: number) => aChange({ changeId: firstIdAt(Date.now() - ageMs), outcome: "created" });
  const nothing: Partial<Identity> = {
    walk: async () => [],
    resolveAll: async (_workspace, asked) => asked.map(() => null),
    forbiddenPairs: async () => [],
    takenBy: async () => ({ links: [], unlinked: [], next: null }),
  };

  it("reads no changes that are older than it but undos: there may be millions", async () => {
    const undone = { before: [newId<ProfileId>()], after: [newId<ProfileId>(), newId<ProfileId>()] };
    const undos = (["unlinked", "reverted"] as const).map((outcome, n) =>
      aChange({ changeId: firstIdAt(Date.now() - 800_000 - n), outcome, ...undone }),
    );
    const all = [...Array.from({ length: 1_000 }, (_, n) => created(20_000 + n)), ...undos];
    let reads = 0;
    const named = new Set<ProfileId>();
    const identity: Partial<Identity> = {
      ...nothing,
      changes: async (_workspace, outcome, { limit, before }) => {
        reads += outcome === null ? 1 : 0;
        const found = all.filter((one) => (outcome ?? one.outcome) === one.outcome);
        return found.filter(({ changeId }) => before === null || changeId < before).slice(0, limit);
      },
      resolveAll: async (_workspace, asked) => asked.map((one) => (named.add(one), null)),
    };
    for await (const some of exportLinks({ identity: identity as Identity }, aWorkspace(), null))
      assert.deepEqual(some, []);
    assert.deepEqual([...named], [...undone.before, ...undone.after]);
    assert.ok(reads <= 3, `${reads} reads`);
  });

  const endless: readonly (readonly [string, LinkPlace | null])[] = [
    ["profiles", null],
    ["what moved", { kind: "moved", since: firstIdAt(0), before: null }],
    ["what was taken away", { kind: "taken", outcome: "unlinked", before: null }],
  ];
  for (const [what, place] of endless)
    it(`answers empty parts while it finds nothing among ${what}, so that it takes turns and can be ended`, async () => {
      let reads = 0;
      const endlessly = <T>(one: T, limit: number): readonly T[] => {
        assert.ok(reads++ < 10, "it reads on and on");
        return Array.from({ length: limit }, () => one);
      };
      const single = { profileId: newId<ProfileId>(), rev: 1, size: 1, members: [] };
      const identity: Partial<Identity> = {
        ...nothing,
        walk: async (_workspace, { limit }) => endlessly(single, limit),
        changes: async (_workspace, _outcome, { limit }) => endlessly(created(0), limit),
      };
      const parts = exportLinks({ identity: identity as Identity }, aWorkspace(), place);
      for (let n = 0; n < 3; n++) assert.deepEqual(await parts.next(), { done: false, value: [] });
      assert.equal((await parts.return()).done, true);
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
      markedAt: async () => 7,
      read: async (_workspace, { keys, pairs }) =>
        ({
          identifiers: new Map(keys.map((key) => [key, {}])),
          removed: new Map(pairs.map((pair) => [pairKey(...pair), { by, at: 7 }])),
        }) as never,
    } satisfies Pick<IdentityGraph, "linksRemovedBy" | "markedAt" | "read">;
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
