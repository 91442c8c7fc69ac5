import type { Services } from "../commands/services.js";
import type { Route } from "./route.js";
import { audienceRoutes } from "./routes/audiences/audiences.js";
import { memberRoutes } from "./routes/audiences/members.js";
import { feedRoutes } from "./routes/audiences/feed.js";
import { webhookRoutes } from "./routes/webhooks/webhooks.js";
import { backfillRoutes } from "./routes/datasets/backfills.js";
import { changeRoutes } from "./routes/changes.js";
import { collectRoutes } from "./routes/collect.js";
import { erasureRoutes } from "./routes/data/erasures.js";
import { exportRoutes } from "./routes/data/exports.js";
import { importRoutes as importLineRoutes } from "./routes/data/imports.js";
import { datasetRoutes } from "./routes/datasets/datasets.js";
import { deadLetterRoutes } from "./routes/dead-letters.js";
import { eventRoutes } from "./routes/events.js";
import { identifyRoutes } from "./routes/identify.js";
import { identityRoutes } from "./routes/identity.js";
import { keyRoutes } from "./routes/keys.js";
import { namespaceRoutes } from "./routes/namespaces.js";
import { profileGraphRoutes } from "./routes/profile-graph.js";
import { profileListRoutes } from "./routes/profile-lists.js";
import { profileRoutes } from "./routes/profiles.js";
import { profileTraitRoutes } from "./routes/profile-traits.js";
import { schemaRoutes } from "./routes/schemas.js";
import { sdkSettingRoutes } from "./routes/sdk/settings.js";
import { undoRoutes } from "./routes/undo.js";
import { liveRoutes } from "./routes/watch/live.js";
import { meRoutes } from "./routes/watch/me.js";
import { statsRoutes } from "./routes/watch/stats.js";
import { workspaceRoutes } from "./routes/workspaces.js";
import { importRoutes } from "./sdk/import.js";
import { sdkRoutes } from "./sdk/routes.js";

/** The hot ones first: Express tries them in this order. */
const TABLE = [
  collectRoutes,
  identifyRoutes,
  profileListRoutes,
  profileRoutes,
  profileGraphRoutes,
  profileTraitRoutes,
  eventRoutes,
  memberRoutes,
  audienceRoutes,
  feedRoutes,
  webhookRoutes,
  identityRoutes,
  undoRoutes,
  changeRoutes,
  schemaRoutes,
  datasetRoutes,
  backfillRoutes,
  namespaceRoutes,
  sdkSettingRoutes,
  exportRoutes,
  importLineRoutes,
  erasureRoutes,
  deadLetterRoutes,
  liveRoutes,
  meRoutes,
  statsRoutes,
  keyRoutes,
  workspaceRoutes,
  sdkRoutes,
  importRoutes,
];

/** All of `/v1`. */
export const createRoutes = (services: Services): readonly Route[] => TABLE.flatMap((routesOf) => routesOf(services));
