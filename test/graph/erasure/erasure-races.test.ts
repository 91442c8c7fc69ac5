import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Database } from "../../../core/database.js";
import { AppError } from "../../../core/errors.js";
import { identifierKey, type Identifier } from "../../../core/event/event.js";
import { newId, type EventId, type KeyId, type WorkspaceId } from "../../../core/ids.js";
import type { Identity } from "../../../core/identity/api.js";
import type { Evidence } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { createSqliteGraph } from "../../../graph/sqlite/graph.js";
import { tombOf } from "../../support/builders.js";
import { anErasure, finish } from "../../support/identity/erasures.js";
import { anAssertion, anIdentifier, aWorkspace, EVIDENCE, openGraphDatabase } from "../../support/identity/fixtures.js";

const keyId = "key0000001" as KeyId;
const hub = anIdentifier("hub");
const spokes = Array.from({ length: 40 }, (_, i) => anIdentifier(`spoke${i}`));
const UNLINK: Evidence = { source: "unlink", keyId, at: EVIDENCE.at + 10 };
const NOW = EVIDENCE.at + 1_000;

describe("An erasure while others work on the profile", () => {
  let [folder, database, graph]: [string, Database | null, IdentityGraph | null] = ["", null, null];
  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), "onym-races-"));
    database = openGraphDatabase(path.join(folder, "onym.db"));
    graph = createSqliteGraph({ database, tombOf });
  });
  after(async () => {
    await graph!.close();
    await database!.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** `between` runs before a step of the undo writes, and only once. */
  const openWith = (between: (workspace: WorkspaceId) => Promise<void>, at: number): Identity => {
    let steps = 0;
    const update: IdentityGraph["update"] = async (workspace, want, decide, turn) => {
      if ((steps += 1) === at) await between(workspace);
      return graph!.update(workspace, want, decide, turn);
    };
    return createIdentity({ graph: { ...graph!, update }, timeoutMs: 60_000, now: () => NOW, linksPerStep: 7 });
  };
  const aStar = async (workspace: WorkspaceId): Promise<void> => {
    const identity = createIdentity({ graph: graph!, timeoutMs: 60_000 });
    await identity.assertAll(
      workspace,
      spokes.map((spoke) => anAssertion(hub, spoke)),
    );
  };
  const eraseIt = async (workspace: WorkspaceId, target: Identifier): Promise<void> => {
    const result = await graph!.erase(workspace, anErasure({ identifiers: [target] }, { now: () => NOW }));
    assert.equal(result.kind, "erased");
  };
  const outcomeOf = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => "done",
      (error: unknown) => {
        if (!(error instanceof AppError)) throw error;
        return error.code;
      },
    );

  it("ends an undo in steps wherever it is, and what left the profile before stays", async () => {
    for (const at of [1, 2, 3, 5, 7]) {
      const workspace = aWorkspace();
      await aStar(workspace);
      const identity = openWith((one) => eraseIt(one, hub), at);
      assert.equal(await outcomeOf(identity.unlink(workspace, { identifier: hub }, UNLINK)), "not_found", `${at}`);
      const left = await graph!.walk(workspace, { limit: 100, after: null, membersMax: 100 });
      assert.ok(
        left.every(({ size }) => size === 1),
        "whoever had left is alone",
      );
      const [erasure] = await graph!.erasures(workspace, { limit: 1, before: null });
      const { identifiers, isGone } = await finish(graph!, erasure!, 9);
      assert.ok(isGone);
      assert.equal(identifiers.get("user_id")! + left.length, 1 + spokes.length, "nobody is lost between the two");
      const changes = await graph!.changes(workspace, null, { limit: 1_000, before: null });
      assert.ok(!JSON.stringify(changes).includes('"hub"'), "no record names the erased");
    }
  });

  it("does not let an undo take one that came back for the one that it read", async () => {
    for (const at of [2, 3, 5]) {
      const workspace = aWorkspace();
      await aStar(workspace);
      const again = createIdentity({ graph: graph!, timeoutMs: 60_000 });
      const identity = openWith(async (one) => {
        await eraseIt(one, hub);
        await again.assertAll(
          one,
          spokes.map((spoke) => anAssertion(hub, spoke)),
        );
      }, at);
      // What it does to the new profile is right in itself: it is asked to unlink whoever is called so.
      await outcomeOf(identity.unlink(workspace, { identifier: hub }, UNLINK));
      const all = await graph!.walk(workspace, { limit: 100, after: null, membersMax: 100 });
      for (const { profileId, size, members } of all) {
        assert.equal(members!.length, size);
        assert.equal(members![0]!.uid, profileId);
        assert.ok((await graph!.links(workspace, profileId, { limit: 100, after: null })).length >= size - 1);
      }
    }
  });

  it("is not undone by events that race with it, nor by repeats of an identifier that came back", async () => {
    const workspace = aWorkspace();
    const identity = createIdentity({ graph: graph!, timeoutMs: 60_000, now: () => NOW });
    const ann = anIdentifier("ann");
    const event = (at: number) => ({
      identifiers: [ann],
      evidence: { source: newId<EventId>(), keyId, at },
      effectiveAt: at,
    });
    await identity.assertAll(workspace, [event(NOW - 5)]);
    const racing = Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        n === 10
          ? identity.erase(workspace, { target: { identifiers: [ann] }, keyId, suppress: false, revision: null })
          : identity.assertAll(workspace, [event(NOW - n)]),
      ),
    );
    await racing;
    assert.deepEqual(await identity.lookup(workspace, [ann]), [null]);
    const back = await identity.assert(workspace, anAssertion(ann));
    assert.equal(back.outcome, "created");
    const [repeat, late, newer] = await identity.assertAll(workspace, [
      { ...anAssertion(ann), evidence: { ...EVIDENCE, at: NOW + 1 } },
      event(NOW),
      event(NOW + 1),
    ]);
    assert.deepEqual(
      [repeat, late, newer].map((one) => one!.outcome),
      ["unchanged", "refused", "unchanged"],
    );
    assert.equal(late!.rule, "erased");
    assert.equal(late!.refusedBy!.uids.length, 1);
    assert.ok(!late!.refusedBy!.uids.includes(newer!.facet!), "the dead uid is another");
    const keys = [identifierKey(workspace, ann)];
    assert.deepEqual(await graph!.repeats(workspace, [keys]), [null], "the way without a lock does not tell");
  });
});
