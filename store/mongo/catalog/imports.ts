import type { Collection } from "mongodb";
import type { ImportMethods } from "../../../core/ports/catalog-store.js";
import type { ChangeCatalog } from "./change.js";
import type { CatalogDocument } from "./document.js";
import type { Session } from "../session.js";

/** The workspaces into which data of another installation is being read. */
export const createImports = ({
  catalog,
  session,
  change,
}: {
  readonly catalog: Collection<CatalogDocument>;
  readonly session: Session;
  readonly change: ChangeCatalog;
}): ImportMethods => ({
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
