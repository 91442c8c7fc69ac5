import assert from "node:assert/strict";
import type { Namespace } from "../../../core/catalog/catalog.js";
import { isUnavailable } from "../../../core/errors.js";
import { BUILT_IN_NAMESPACES } from "../../../core/identity/namespaces.js";
import { newId, type WorkspaceId } from "../../../core/ids.js";
import type { CatalogStore } from "../../../core/ports/catalog-store.js";
import { aNamespace, putNamespace } from "../../support/builders.js";
import type { Contract } from "../../support/contract.js";

const newWorkspace = (): WorkspaceId => newId<WorkspaceId>();
const EMAIL = BUILT_IN_NAMESPACES.find(({ name }) => name === "email")!;
const card = aNamespace({ name: "card", limit: 3 });
const fresh = aNamespace({ name: "fresh" });

/** What is noted when events and calls name namespaces. */
export const namespaceSentences: Contract<CatalogStore> = {
  "notes that a namespace that was put or is built in is used, and changes nothing else of it, whatever the maximum":
    async ({ port, reopen }) => {
      const workspace = newWorkspace();
      await putNamespace(port, workspace, card);
      const used = [
        { ...card, used: true },
        { ...EMAIL, used: true },
      ];
      const given = [{ ...card, limit: null }, EMAIL, EMAIL];
      for (const _ of ["first", "again"]) {
        assert.equal(await port.registerNamespaces(workspace, given, 0), true);
        assert.deepEqual(await port.namespaces(workspace), used);
      }
      assert.equal(await port.registerNamespaces(workspace, [fresh], 1), true);
      const all = [...used, { ...fresh, registeredItself: true }];
      assert.deepEqual(await port.namespaces(workspace), all);
      assert.equal(await port.registerNamespaces(workspace, [fresh], 1), true);
      assert.deepEqual(await (await reopen()).namespaces(workspace), all);
    },

  "notes no use when it registers none, because they would be too many": async ({ port }) => {
    const workspace = newWorkspace();
    await putNamespace(port, workspace, card);
    assert.equal(await port.registerNamespaces(workspace, [card, EMAIL, fresh], 0), false);
    assert.deepEqual(await port.namespaces(workspace), [card]);
  },

  "refuses as unavailable what was read by another normalization than stands, and does nothing": async ({ port }) => {
    const workspace = newWorkspace();
    await putNamespace(port, workspace, card);
    await putNamespace(port, workspace, { ...EMAIL, normalization: "none" });
    const before = await port.namespaces(workspace);
    const others: readonly Namespace[] = [{ ...card, normalization: "email" }, EMAIL];
    for (const other of others)
      await assert.rejects(port.registerNamespaces(workspace, [fresh, other], 9), isUnavailable, other.name);
    assert.deepEqual(await port.namespaces(workspace), before);
    // Those that come at the same moment are not held up.
    const [refused, noted] = await Promise.allSettled([
      port.registerNamespaces(workspace, [EMAIL], 9),
      port.registerNamespaces(workspace, [card], 9),
    ]);
    assert.deepEqual([refused.status, noted.status], ["rejected", "fulfilled"]);
    assert.equal((await port.namespaces(workspace))[0]!.used, true);
  },

  "lets no change of the normalization and no first use come between each other": async ({ port }) => {
    for (let times = 0; times < 20; times += 1) {
      const workspace = newWorkspace();
      await putNamespace(port, workspace, card);
      const change = port.changeNamespace(workspace, "card", (current) => {
        if (current!.used) throw new Error("is used");
        return { ...current!, normalization: "email" };
      });
      const outcomes = await Promise.allSettled([change, port.registerNamespaces(workspace, [card], 9)]);
      assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
    }
  },
};
