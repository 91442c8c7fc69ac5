import type { ImportMethods } from "../../../core/ports/catalog-store.js";
import type { CatalogDeps } from "./change.js";

/** The workspaces into which data of another installation is being read. */
export const createImports = ({ catalog, session, change }: CatalogDeps): ImportMethods => ({
  isImporting: async (workspace) => {
    const found = await session.call(() => catalog.findOne({ _id: workspace }, { projection: { importing: 1 } }));
    return found?.importing === true;
  },
  setImporting: (workspace, importing) =>
    change(workspace, {
      sections: ["importing"],
      decide: () => ({ change: { importing }, result: undefined }),
    }),
});
