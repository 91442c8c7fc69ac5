import assert from "node:assert/strict";
import { changeNamespace, type NamespaceChanges } from "../../../commands/change-namespace.js";
import type { Services } from "../../../commands/services.js";
import { NO_AUDIENCES } from "../../../core/audience/audience.js";
import type { Namespace } from "../../../core/catalog/catalog.js";
import { newId } from "../../../core/ids.js";
import { aNamespace } from "../../support/builders.js";
import { isAppError } from "../../support/errors.js";

describe("The normalization of a namespace", () => {
  const card = aNamespace({ name: "card", normalization: "email" });

  /** What the route knows before the change, what stands there at the change, and how often it asked the graph. */
  function bench(known: readonly Namespace[], standing: Namespace | null, hasIdentifiers: boolean) {
    const asked: string[] = [];
    const services = {
      catalog: {
        namespaces: async () => known,
        changeNamespace: async (
          _: unknown,
          __: string,
          change: (current: Namespace | null, all: readonly Namespace[]) => Namespace,
        ) => change(standing, known),
      },
      identity: {
        hasIdentifiers: async (_: unknown, name: string) => {
          asked.push(name);
          return hasIdentifiers;
        },
      },
      audiences: { audiences: async () => NO_AUDIENCES },
    } as unknown as Services;
    const put = async (changes: NamespaceChanges): Promise<"new" | "changed"> => {
      const { isNew } = await changeNamespace(services, newId(), "card", changes, () => true);
      return isNew ? "new" : "changed";
    };
    return { asked, put };
  }

  it("is looked up in the graph only when it would change", async () => {
    const { asked, put } = bench([card], card, true);
    const settings: readonly NamespaceChanges[] = [{}, { limit: 3 }, { normalization: "email", limit: 3 }];
    for (const changes of settings) assert.equal(await put(changes), "changed");
    assert.deepEqual(asked, []);
    await assert.rejects(put({ normalization: "none" }), isAppError("conflict"));
    assert.deepEqual(asked, ["card"]);
    const fresh = bench([], null, true);
    assert.equal(await fresh.put({ normalization: "phone" }), "new");
    assert.deepEqual(fresh.asked, []);
  });

  it("does not change on the word of an answer that was about another one", async () => {
    const fields = { normalization: "phone" } as const;
    assert.equal(await bench([card], card, false).put(fields), "changed");
    const changedMeanwhile = bench([{ ...card, normalization: "phone" }], card, false);
    await assert.rejects(changedMeanwhile.put(fields), isAppError("conflict"));
    const usedMeanwhile = bench([card], { ...card, used: true }, false);
    await assert.rejects(usedMeanwhile.put(fields), isAppError("conflict"));
    const cameMeanwhile = bench([], card, false);
    await assert.rejects(cameMeanwhile.put(fields), isAppError("conflict"));
  });
});
