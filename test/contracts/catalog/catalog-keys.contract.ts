import assert from "node:assert/strict";
import { KEYS_MAX, type KeyRecord, type Workspace } from "../../../core/catalog/catalog.js";
import { newId, type KeyId, type WorkspaceId } from "../../../core/ids.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import { aKey, aKeyId, aWorkspace, HOSTILE_TEXTS } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";
import { inPages } from "../../support/house/pages.js";

const byId = (a: KeyRecord, b: KeyRecord): number => (a.keyId < b.keyId ? -1 : 1);

/** A workspace with its owner key. */
async function open(port: CatalogStore) {
  const workspace = aWorkspace();
  const owner = aKey({ workspace: workspace.workspaceId, role: "owner" });
  await port.createWorkspace(workspace, owner);
  return { workspace, ws: workspace.workspaceId, owner };
}

export const keySentences: Contract<CatalogStore> = {
  "stores a workspace with its owner key": async ({ port }) => {
    const { workspace, ws, owner } = await open(port);
    assert.deepEqual(await port.findWorkspace(ws), workspace);
    assert.deepEqual(await port.findKey(owner.keyId), owner);
    assert.equal(await port.findWorkspace(newId<WorkspaceId>()), null);
    assert.equal(await port.findKey(aKeyId()), null);
  },

  "stores neither workspace nor key when one of them cannot be stored": async ({ port }) => {
    const { owner, workspace } = await open(port);
    const refused = aWorkspace();
    await assert.rejects(port.createWorkspace(refused, { ...owner, workspace: refused.workspaceId }));
    assert.equal(await port.findWorkspace(refused.workspaceId), null);
    assert.deepEqual(await port.findKey(owner.keyId), owner);
    const key = aKey();
    await assert.rejects(port.createWorkspace({ ...workspace, name: "again" }, key));
    assert.equal(await port.findKey(key.keyId), null);
    assert.deepEqual(await port.findWorkspace(workspace.workspaceId), workspace);
  },

  "findWorkspace keeps workspaces apart": async ({ port }) => {
    const [a, b] = [await open(port), await open(port)];
    for (const { ws, workspace } of [a, b]) assert.deepEqual(await port.findWorkspace(ws), workspace);
    assert.equal(await port.findWorkspace(newId<WorkspaceId>()), null);
  },

  "lists all workspaces by id, each once over the pages": async ({ port }) => {
    const made = [];
    for (let n = 0; n < 7; n += 1) made.push((await open(port)).workspace);
    for (const limit of [2, 7, 10])
      assert.deepEqual(
        await inPages<Workspace, WorkspaceId>(
          limit,
          (page) => port.workspaces(page),
          ({ workspaceId }) => workspaceId,
        ),
        made,
      );
  },

  "finds a key as it was created": async ({ port }) => {
    const { ws } = await open(port);
    const keys = [
      aKey({ workspace: ws }),
      aKey({ workspace: ws, role: "viewer", name: "reader", expiresAt: 1_900_000_000_000 }),
      aKey({ workspace: ws, send: "all", name: "" }),
      aKey({
        workspace: ws,
        send: "collect",
        origins: ["https://shop.example", "http://127.0.0.1:8000"],
        perMinute: 1_000_000,
      }),
    ];
    for (const key of keys) await port.createKey(key, KEYS_MAX);
    for (const key of keys) assert.deepEqual(await port.findKey(key.keyId), key);
  },

  "finds a key that was looked for before it was created": async ({ port }) => {
    const { ws } = await open(port);
    const key = aKey({ workspace: ws });
    assert.equal(await port.findKey(key.keyId), null);
    await port.createKey(key, KEYS_MAX);
    assert.deepEqual(await port.findKey(key.keyId), key);
  },

  "does not replace a key": async ({ port }) => {
    const { ws, owner } = await open(port);
    await assert.rejects(port.createKey(aKey({ workspace: ws, keyId: owner.keyId, role: "viewer" }), KEYS_MAX));
    assert.deepEqual(await port.findKey(owner.keyId), owner);
  },

  "gives back any text of a name": async ({ port }) => {
    for (const name of HOSTILE_TEXTS) {
      const workspace = aWorkspace({ name });
      const owner = aKey({ workspace: workspace.workspaceId, role: "owner", name });
      await port.createWorkspace(workspace, owner);
      assert.deepEqual(await port.findWorkspace(workspace.workspaceId), workspace);
      assert.deepEqual(await port.findKey(owner.keyId), owner);
    }
  },

  "lists the keys of a workspace by id, each once over the pages": async ({ port }) => {
    const { ws, owner } = await open(port);
    const keys = [owner, ...Array.from({ length: 6 }, () => aKey({ workspace: ws }))];
    for (const key of keys.slice(1)) await port.createKey(key, KEYS_MAX);
    for (const limit of [1, 3, 7, 10]) {
      const listed = await inPages<KeyRecord, KeyId>(
        limit,
        (page) => port.keys(ws, page),
        ({ keyId }) => keyId,
      );
      assert.deepEqual(listed, keys.toSorted(byId));
    }
  },

  "deletes a key, once": async ({ port }) => {
    const { ws } = await open(port);
    const key = aKey({ workspace: ws });
    await port.createKey(key, KEYS_MAX);
    assert.deepEqual(await port.findKey(key.keyId), key);
    assert.equal(await port.deleteKey(ws, key.keyId), "deleted");
    assert.equal(await port.findKey(key.keyId), null);
    assert.equal(await port.deleteKey(ws, key.keyId), "not_found");
  },

  "does not delete the last owner key without an expiry": async ({ port }) => {
    const { ws, owner } = await open(port);
    await port.createKey(aKey({ workspace: ws, role: "owner", expiresAt: 4_000_000_000_000 }), KEYS_MAX);
    await port.createKey(aKey({ workspace: ws, role: "admin" }), KEYS_MAX);
    assert.equal(await port.deleteKey(ws, owner.keyId), "last_owner");
    assert.deepEqual(await port.findKey(owner.keyId), owner);
    const second = aKey({ workspace: ws, role: "owner" });
    await port.createKey(second, KEYS_MAX);
    assert.equal(await port.deleteKey(ws, owner.keyId), "deleted");
    assert.equal(await port.deleteKey(ws, second.keyId), "last_owner");
  },

  "leaves an owner when all owner keys are deleted at once": async ({ port }) => {
    const { ws, owner } = await open(port);
    const owners = [owner, ...Array.from({ length: 4 }, () => aKey({ workspace: ws, role: "owner" }))];
    for (const key of owners.slice(1)) await port.createKey(key, KEYS_MAX);
    const answers = await Promise.all(owners.map(({ keyId }) => port.deleteKey(ws, keyId)));
    assert.deepEqual(answers.toSorted(), ["deleted", "deleted", "deleted", "deleted", "last_owner"]);
    assert.equal((await port.keys(ws, { limit: 10, after: null })).length, 1);
  },

  "rotates a key: the successor is there and the old one expires": async ({ port }) => {
    const { ws, owner } = await open(port);
    const successor = aKey({ workspace: ws, role: "owner" });
    assert.deepEqual(await port.findKey(owner.keyId), owner);
    assert.equal(await port.findKey(successor.keyId), null);
    assert.equal(await port.rotateKey(ws, owner.keyId, successor, 5_000, KEYS_MAX), "rotated");
    assert.deepEqual(await port.findKey(owner.keyId), {
      ...owner,
      expiresAt: 5_000,
      successor: successor.keyId,
    });
    assert.deepEqual(await port.findKey(successor.keyId), successor);
  },

  "keeps what both keys of a rotation may send": async ({ port }) => {
    const { ws } = await open(port);
    const sending = { send: "collect", origins: ["https://shop.example"], perMinute: 600 } as const;
    const [old, successor] = [aKey({ workspace: ws, ...sending }), aKey({ workspace: ws, ...sending })];
    await port.createKey(old, KEYS_MAX);
    await port.rotateKey(ws, old.keyId, successor, 5_000, KEYS_MAX);
    for (const { keyId } of [old, successor]) {
      const { send, origins, perMinute } = (await port.findKey(keyId))!;
      assert.deepEqual({ send, origins, perMinute }, sending);
    }
  },

  "rotates a key once: the second time stores nothing": async ({ port }) => {
    const { ws, owner } = await open(port);
    const [first, second] = [aKey({ workspace: ws }), aKey({ workspace: ws })];
    const answers = await Promise.all(
      [first, second].map((key) => port.rotateKey(ws, owner.keyId, key, 5_000, KEYS_MAX)),
    );
    assert.deepEqual(answers, ["rotated", "already_rotated"]);
    assert.equal(await port.findKey(second.keyId), null);
    assert.equal((await port.findKey(owner.keyId))?.successor, first.keyId);
  },

  "does not let a rotation prolong a key that expires earlier": async ({ port }) => {
    const { ws } = await open(port);
    for (const [had, wanted] of [
      [1_000, 5_000],
      [9_000, 5_000],
    ] as const) {
      const key = aKey({ workspace: ws, expiresAt: had });
      await port.createKey(key, KEYS_MAX);
      await port.rotateKey(ws, key.keyId, aKey({ workspace: ws }), wanted, KEYS_MAX);
      assert.equal((await port.findKey(key.keyId))?.expiresAt, Math.min(had, wanted));
    }
  },

  "stores no successor when there is no such key, and expires none when it cannot be stored": async ({ port }) => {
    const { ws, owner } = await open(port);
    const successor = aKey({ workspace: ws });
    assert.equal(await port.rotateKey(ws, aKeyId(), successor, 5_000, KEYS_MAX), "not_found");
    assert.equal(await port.findKey(successor.keyId), null);
    const key = aKey({ workspace: ws });
    await port.createKey(key, KEYS_MAX);
    await assert.rejects(port.rotateKey(ws, key.keyId, { ...successor, keyId: owner.keyId }, 5_000, KEYS_MAX));
    assert.deepEqual(await port.findKey(key.keyId), key);
    assert.deepEqual(await port.findKey(owner.keyId), owner);
  },

  "holds at most `max` keys, also of those that are made at once": async ({ port }) => {
    const { ws, owner } = await open(port);
    const other = await open(port);
    const given = Array.from({ length: 6 }, () => aKey({ workspace: ws }));
    const answers = await Promise.all(given.map((key) => port.createKey(key, 4)));
    assert.deepEqual(answers.toSorted(), ["created", "created", "created", "full", "full", "full"]);
    const made = given.filter((_key, n) => answers[n] === "created");
    assert.deepEqual(await port.keys(ws, { limit: 10, after: null }), [owner, ...made].toSorted(byId));
    for (const key of given.filter((_key, n) => answers[n] === "full"))
      assert.equal(await port.findKey(key.keyId), null);
    assert.equal(await port.createKey(aKey({ workspace: other.ws }), 4), "created", "other workspaces do not count");
    await port.deleteKey(ws, made[0]!.keyId);
    assert.equal(await port.createKey(aKey({ workspace: ws }), 4), "created");
  },

  "rotates no key where the successor would be one too many": async ({ port }) => {
    const { ws, owner } = await open(port);
    const successor = aKey({ workspace: ws, role: "owner" });
    assert.equal(await port.rotateKey(ws, owner.keyId, successor, 5_000, 1), "full");
    assert.deepEqual(await port.keys(ws, { limit: 10, after: null }), [owner]);
    assert.equal(await port.rotateKey(ws, owner.keyId, successor, 5_000, 2), "rotated");
  },

  "drops expired keys for a new one, and only where it finds no room": async ({ port }) => {
    const [{ ws, owner }, other] = [await open(port), await open(port)];
    const page = { limit: 10, after: null };
    const now = owner.createdAt + 10_000;
    const expiring = (workspace: WorkspaceId, expiresAt: number) => aKey({ workspace, expiresAt });
    const [gone, ending, elsewhere] = [expiring(ws, now), expiring(ws, now + 1), expiring(other.ws, now)];
    for (const key of [gone, ending, elsewhere]) await port.createKey(key, 4);
    const [fourth, fifth] = [0, 1].map(() => aKey({ workspace: ws, createdAt: now }));
    assert.equal(await port.createKey(fourth!, 4), "created");
    assert.deepEqual(await port.findKey(gone.keyId), gone);
    assert.equal(await port.createKey(fifth!, 4), "created");
    assert.deepEqual(await port.keys(ws, page), [owner, ending, fourth!, fifth!].toSorted(byId));
    const successor = aKey({ workspace: ws, createdAt: now + 1 });
    assert.equal(await port.rotateKey(ws, fourth!.keyId, successor, now + 5, 4), "rotated");
    assert.equal(await port.findKey(ending.keyId), null);
    assert.equal(await port.rotateKey(ws, fifth!.keyId, aKey({ workspace: ws, createdAt: now + 1 }), 1, 4), "full");
    assert.deepEqual(await port.findKey(elsewhere.keyId), elsewhere);
  },

  "rotates a key that has expired itself, where it is full": async ({ port }) => {
    const { ws, owner } = await open(port);
    const old = aKey({ workspace: ws, expiresAt: owner.createdAt });
    await port.createKey(old, 2);
    const successor = aKey({ workspace: ws });
    assert.equal(await port.rotateKey(ws, old.keyId, successor, 0, 2), "full");
    assert.deepEqual(await port.findKey(old.keyId), old);
    assert.equal(await port.rotateKey(ws, old.keyId, successor, 0, 3), "rotated");
    assert.equal((await port.findKey(old.keyId))?.successor, successor.keyId);
  },

  "keys, deleteKey and rotateKey keep workspaces apart": async ({ port }) => {
    const [a, b] = [await open(port), await open(port)];
    const page = { limit: 10, after: null };
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const key = aKey({ workspace: one.ws });
      const successor = aKey({ workspace: other.ws });
      await port.createKey(key, KEYS_MAX);
      assert.equal(await port.deleteKey(other.ws, key.keyId), "not_found");
      assert.equal(await port.rotateKey(other.ws, key.keyId, successor, 0, KEYS_MAX), "not_found");
      assert.deepEqual(await port.findKey(key.keyId), key);
      assert.equal(await port.findKey(successor.keyId), null);
      assert.deepEqual(await port.keys(one.ws, page), [one.owner, key].toSorted(byId));
      assert.equal(await port.deleteKey(one.ws, key.keyId), "deleted");
      assert.equal(
        await port.deleteKey(one.ws, one.owner.keyId),
        "last_owner",
        "another workspace's owner is none here",
      );
    }
    assert.deepEqual(await port.keys(newId<WorkspaceId>(), page), []);
    assert.deepEqual(await port.keys(a.ws, { limit: 10, after: "~" as KeyId }), []);
  },
};
