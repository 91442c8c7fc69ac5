import assert from "node:assert/strict";
import { DEFAULT_IDENTITY_SETTINGS, type Namespace } from "../../../core/catalog/catalog.js";
import { AppError } from "../../../core/errors.js";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import { aNamespace, HOSTILE_TEXTS, putNamespace } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";

const newWorkspace = (): WorkspaceId => newId<WorkspaceId>();
const named = (...names: readonly string[]): readonly Namespace[] => names.map((name) => aNamespace({ name }));
const registered = (...names: readonly string[]): readonly Namespace[] =>
  names.map((name) => aNamespace({ name, registeredItself: true }));

export const settingSentences: Contract<CatalogStore> = {
  "lists what a workspace registered or changed, by name": async ({ port }) => {
    const workspace = newWorkspace();
    assert.deepEqual(await port.namespaces(workspace), []);
    const email = aNamespace({
      name: "email",
      normalization: "email",
      limit: 5,
      priority: 900,
      blocked: HOSTILE_TEXTS,
    });
    const [card, zone] = named("card", "zone") as [Namespace, Namespace];
    await putNamespace(port, workspace, zone);
    assert.deepEqual(await port.namespaces(workspace), [zone]);
    await putNamespace(port, workspace, email);
    assert.equal(await port.registerNamespaces(workspace, [card], 10), true);
    assert.deepEqual(await port.namespaces(workspace), [...registered("card"), email, zone]);
  },

  "puts what a change makes of the stored namespace in its place, and answers it": async ({ port }) => {
    const workspace = newWorkspace();
    const told: (Namespace | null)[] = [];
    const change = (changes: Partial<Namespace>): Promise<Namespace> =>
      port.changeNamespace(workspace, "card", (current) => {
        told.push(current);
        return { ...(current ?? aNamespace({ name: "card" })), ...changes };
      });
    const first = aNamespace({ name: "card", limit: 3 });
    assert.deepEqual(await change({ limit: 3 }), first);
    assert.deepEqual(await port.namespaces(workspace), [first]);
    const second: Namespace = { ...first, kind: "device", normalization: "phone", blocked: HOSTILE_TEXTS };
    assert.deepEqual(await change({ kind: "device", normalization: "phone", blocked: HOSTILE_TEXTS }), second);
    assert.deepEqual(await change({ limit: null, blocked: [] }), { ...second, limit: null, blocked: [] });
    assert.deepEqual(await port.namespaces(workspace), [{ ...second, limit: null, blocked: [] }]);
    assert.deepEqual(told, [null, first, second]);
  },

  "changes a namespace in one step, so that many changes at once all stand": async ({ port }) => {
    const workspace = newWorkspace();
    const many = Array.from({ length: 20 }, (_, n) => n);
    const answers = await Promise.all(
      many.map((n) =>
        port.changeNamespace(workspace, "card", (current) => {
          const { priority, blocked } = current ?? aNamespace();
          return aNamespace({ name: "card", priority: priority + 1, blocked: [...blocked, `${n}`] });
        }),
      ),
    );
    assert.deepEqual(
      answers.map(({ priority }) => priority).toSorted((a, b) => a - b),
      many.map((n) => n + 1),
    );
    const [card] = await port.namespaces(workspace);
    assert.deepEqual([card?.priority, card?.blocked.toSorted()], [20, many.map(String).toSorted()]);
  },

  "throws what a change threw, and changes nothing then": async ({ port }) => {
    const workspace = newWorkspace();
    const card = aNamespace({ name: "card", limit: 3 });
    await putNamespace(port, workspace, card);
    const errors = [new Error("no"), new AppError("precondition_failed", "no"), new AppError("unavailable", "no")];
    for (const error of errors)
      for (const name of ["card", "other"]) {
        const changing = port.changeNamespace(workspace, name, () => {
          throw error;
        });
        await assert.rejects(changing, (thrown) => thrown === error);
      }
    assert.deepEqual(await port.namespaces(workspace), [card]);
    // Those that change at the same moment are not held up, nor undone.
    const answers = await Promise.allSettled([
      putNamespace(port, workspace, { ...card, limit: 4 }),
      port.changeNamespace(workspace, "other", () => {
        throw errors[0]!;
      }),
      port.registerNamespaces(workspace, named("new"), 1),
    ]);
    assert.deepEqual(
      answers.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    assert.deepEqual(await port.namespaces(workspace), [{ ...card, limit: 4 }, ...registered("new")]);
  },

  "registers all of a call or none, up to the maximum": async ({ port }) => {
    const workspace = newWorkspace();
    assert.equal(await port.registerNamespaces(workspace, named("a", "b"), 3), true);
    assert.equal(await port.registerNamespaces(workspace, named("c", "d"), 3), false);
    assert.deepEqual(await port.namespaces(workspace), registered("a", "b"));
    assert.equal(await port.registerNamespaces(workspace, named("a", "c", "c"), 3), true);
    assert.equal(await port.registerNamespaces(workspace, named("d"), 3), false);
    assert.equal(await port.registerNamespaces(workspace, named("a", "b", "c"), 3), true);
    assert.equal(await port.registerNamespaces(workspace, named("c"), 0), true);
    assert.equal(await port.registerNamespaces(workspace, [], 0), true);
    assert.deepEqual(await port.namespaces(workspace), registered("a", "b", "c"));
  },

  "counts only what registered itself, also after it was changed": async ({ port }) => {
    const workspace = newWorkspace();
    for (const name of ["x", "y", "z"])
      assert.equal((await putNamespace(port, workspace, registered(name)[0]!)).registeredItself, false);
    assert.equal(await port.registerNamespaces(workspace, named("a"), 1), true);
    const changed = await putNamespace(port, workspace, aNamespace({ name: "a", priority: 7 }));
    assert.deepEqual(changed, { ...registered("a")[0], priority: 7 });
    assert.equal(await port.registerNamespaces(workspace, named("b"), 1), false);
    assert.deepEqual(await port.namespaces(workspace), [changed, ...named("x", "y", "z")]);
  },

  "never exceeds the maximum when many register at once": async ({ port }) => {
    const workspace = newWorkspace();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => port.registerNamespaces(workspace, named(`n${n}`, "shared"), 6)),
    );
    assert.equal(answers.filter(Boolean).length, 5);
    assert.equal((await port.namespaces(workspace)).length, 6);
  },

  "namespaces, changeNamespace and registerNamespaces keep workspaces apart": async ({ port }) => {
    const [a, b] = [newWorkspace(), newWorkspace()];
    for (const [own, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const before = await port.namespaces(other);
      await port.changeNamespace(own, "card", (current) => {
        assert.equal(current, null);
        return aNamespace({ name: "card", limit: own === a ? 1 : 2 });
      });
      assert.equal(await port.registerNamespaces(own, named("shared"), 1), true);
      assert.deepEqual(await port.namespaces(other), before);
    }
    for (const [workspace, limit] of [
      [a, 1],
      [b, 2],
    ] as const)
      assert.deepEqual(await port.namespaces(workspace), [
        aNamespace({ name: "card", limit }),
        ...registered("shared"),
      ]);
  },

  "answers the settings of identity as they were put, and the defaults before": async ({ port }) => {
    const workspace = newWorkspace();
    assert.deepEqual(await port.identitySettings(workspace), DEFAULT_IDENTITY_SETTINGS);
    for (const sharedIdentifierLimit of [5, 100, null, 1])
      for (const sendingKeysAddNamespaces of [true, false]) {
        const settings = { sharedIdentifierLimit, sendingKeysAddNamespaces };
        await port.putIdentitySettings(workspace, settings);
        assert.deepEqual(await port.identitySettings(workspace), settings);
      }
    assert.deepEqual(await port.namespaces(workspace), []);
  },

  "identitySettings and putIdentitySettings keep workspaces apart": async ({ port }) => {
    const [a, b] = [newWorkspace(), newWorkspace()];
    for (const [own, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const before = await port.identitySettings(other);
      await port.putIdentitySettings(own, { ...DEFAULT_IDENTITY_SETTINGS, sharedIdentifierLimit: own === a ? 1 : 2 });
      assert.deepEqual(await port.identitySettings(other), before);
    }
    assert.deepEqual(await Promise.all([a, b].map((own) => port.identitySettings(own))), [
      { ...DEFAULT_IDENTITY_SETTINGS, sharedIdentifierLimit: 1 },
      { ...DEFAULT_IDENTITY_SETTINGS, sharedIdentifierLimit: 2 },
    ]);
  },
};
