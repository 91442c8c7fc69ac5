import type { LookServices } from "../../commands/audiences/look.js";
import type { AudienceStore } from "../../core/ports/audience-store.js";
import type { CatalogStore } from "../../core/ports/catalog-store.js";
import type { MarkStore } from "../../core/ports/mark-store.js";
import type { Movements } from "../../core/ports/movements.js";
import type { WorkspaceId } from "../../core/ids.js";

export interface AudienceDeps extends LookServices {
  readonly audiences: AudienceStore;
  readonly catalog: Pick<CatalogStore, "isImporting">;
  readonly marks: MarkStore;
  readonly movements: Pick<Movements, "moved" | "clearMoved">;
  /** Milliseconds since 1970. */
  readonly now: (workspace: WorkspaceId) => number;
  /** Milliseconds that no clock sets back. */
  readonly steady?: () => number;
}

/** Profiles that are looked at together. */
export const PER_LOOK = 256;
