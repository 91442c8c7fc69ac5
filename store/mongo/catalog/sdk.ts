import { registerTraits, type TraitName } from "../../../core/catalog/decide.js";
import { DEFAULT_SDK_CATALOG } from "../../../core/catalog/sdk.js";
import type { SdkMethods as Methods } from "../../../core/ports/catalog-store.js";
import type { CatalogDeps } from "./change.js";
import type { TraitRow } from "./document.js";

/** What a workspace set for SDKs, its plan, and the names of its traits. */
export const createSdk = ({ catalog, session, change }: CatalogDeps): Methods => ({
  sdk: async (workspace) => {
    const found = await session.call(() => catalog.findOne({ _id: workspace }, { projection: { sdk: 1 } }));
    return found?.sdk ?? DEFAULT_SDK_CATALOG;
  },
  changeSdk: (workspace, make) =>
    change(workspace, {
      sections: ["sdk"],
      decide: ({ sdk }) => {
        const changed = make(sdk ?? DEFAULT_SDK_CATALOG);
        return { change: { sdk: changed }, result: changed };
      },
    }),
  traits: async (workspace) => {
    const found = await session.call(() => catalog.findOne({ _id: workspace }, { projection: { traits: 1 } }));
    return new Map((found?.traits ?? []).map((row) => [row.name, toTrait(row)]));
  },
  registerTraits: (workspace, given, max) =>
    change(workspace, {
      sections: ["traits"],
      decide: ({ traits }) => {
        const standing = new Map(traits.map((row) => [row.name, toTrait(row)]));
        const added = registerTraits(standing, given, max);
        const names = new Set(added);
        const result = given.filter((name) => names.has(name) || standing.get(name)?.merge === "latest");
        if (added.length === 0) return { change: null, result };
        return { change: { traits: [...traits, ...added.map(toRow)] }, result };
      },
    }),
});

const toTrait = ({ merge, registered_itself: itself }: TraitRow): TraitName => ({
  merge,
  registeredItself: itself === true,
});
const toRow = (name: string): TraitRow => ({ name, merge: "latest", registered_itself: true });
