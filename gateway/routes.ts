import { changeRoutes, type ChangesDeps } from "./routes/changes.js";
import { collectRoutes, type CollectDeps } from "./routes/collect.js";
import { datasetRoutes, type DatasetsDeps } from "./routes/datasets.js";
import { deadLetterRoutes, type DeadLettersDeps } from "./routes/dead-letters.js";
import { eventRoutes, type EventsDeps } from "./routes/events.js";
import { explainRoutes, type ExplainDeps } from "./routes/explain.js";
import { identifyRoutes, type IdentifyDeps } from "./routes/identify.js";
import { identitySettingsRoutes, type IdentitySettingsDeps } from "./routes/identity-settings.js";
import { keyRoutes, type KeysDeps } from "./routes/keys.js";
import { namespaceRoutes, type NamespacesDeps } from "./routes/namespaces.js";
import { profileGraphRoutes, type ProfileGraphDeps } from "./routes/profile-graph.js";
import { profileRoutes, type ProfilesDeps } from "./routes/profiles.js";
import type { Route } from "./route.js";
import { schemaRoutes, type SchemasDeps } from "./routes/schemas.js";
import { undoRoutes, type UndoDeps } from "./routes/undo.js";
import { workspaceRoutes, type WorkspacesDeps } from "./routes/workspaces.js";

export interface RoutesDeps {
  readonly collect: CollectDeps;
  readonly identify: IdentifyDeps;
  readonly profiles: ProfilesDeps;
  readonly profileGraph: ProfileGraphDeps;
  readonly events: EventsDeps;
  readonly explain: ExplainDeps;
  readonly undo: UndoDeps;
  readonly changes: ChangesDeps;
  readonly schemas: SchemasDeps;
  readonly datasets: DatasetsDeps;
  readonly namespaces: NamespacesDeps;
  readonly identitySettings: IdentitySettingsDeps;
  readonly deadLetters: DeadLettersDeps;
  readonly keys: KeysDeps;
  /** Null without an operator key. */
  readonly workspaces: WorkspacesDeps | null;
}

/** All of `/v1`, the hot ones first: Express tries them in this order. */
export const createRoutes = (deps: RoutesDeps): readonly Route[] => [
  ...collectRoutes(deps.collect),
  ...identifyRoutes(deps.identify),
  ...profileRoutes(deps.profiles),
  ...profileGraphRoutes(deps.profileGraph),
  ...eventRoutes(deps.events),
  ...explainRoutes(deps.explain),
  ...undoRoutes(deps.undo),
  ...changeRoutes(deps.changes),
  ...schemaRoutes(deps.schemas),
  ...datasetRoutes(deps.datasets),
  ...namespaceRoutes(deps.namespaces),
  ...identitySettingsRoutes(deps.identitySettings),
  ...deadLetterRoutes(deps.deadLetters),
  ...keyRoutes(deps.keys),
  ...(deps.workspaces === null ? [] : workspaceRoutes(deps.workspaces)),
];
