import { Type } from "typebox";
import type { Services } from "../../commands/services.js";
import { namespaceTable } from "../../core/identity/namespaces.js";
import type { WorkspaceId } from "../../core/ids.js";
import { record } from "../shapes/fields.js";

/** What the browsers' SDKs ask for when a page loads: where to send to, in the form that each of them knows. */
const WARNINGS = Type.Array(record({ code: Type.Literal("user_id_without_limit"), message: Type.String() }));

export const SEGMENT_SETTINGS = record({
  integrations: record({
    "Segment.io": record({ apiKey: Type.String(), apiHost: Type.String(), protocol: Type.Enum(["http", "https"]) }),
  }),
  plan: record({ track: Type.Object({}) }),
  edgeFunction: record({}),
  analyticsNextEnabled: Type.Literal(true),
  middlewareSettings: record({}),
  enabledMiddleware: record({}),
  metrics: record({ sampleRate: Type.Literal(0) }),
  legacyVideoPluginsEnabled: Type.Literal(false),
  remotePlugins: Type.Array(Type.Unknown(), { maxItems: 0 }),
  warnings: WARNINGS,
});

export const RUDDER_SOURCE_CONFIG = record({
  source: record({
    id: Type.String(),
    name: Type.String(),
    writeKey: Type.String(),
    enabled: Type.Literal(true),
    config: record({
      statsCollection: record({
        errors: record({ enabled: Type.Literal(false) }),
        metrics: record({ enabled: Type.Literal(false) }),
      }),
    }),
    destinations: Type.Array(Type.Unknown(), { maxItems: 0 }),
  }),
  warnings: WARNINGS,
});

/** Without our addresses the SDK would send to its maker. They come from a setting: whoever asks writes the Host header. */
export function segmentSettings(writeKey: string, publicUrl: string, warnings: readonly object[]) {
  const { protocol, host, pathname } = new URL(publicUrl);
  return {
    integrations: {
      "Segment.io": {
        apiKey: writeKey,
        apiHost: `${host}${pathname.replace(/\/+$/, "")}/v1`,
        protocol: protocol.slice(0, -1),
      },
    },
    plan: { track: { __default: { enabled: true, integrations: {} } } },
    edgeFunction: {},
    analyticsNextEnabled: true,
    middlewareSettings: {},
    enabledMiddleware: {},
    metrics: { sampleRate: 0 },
    legacyVideoPluginsEnabled: false,
    remotePlugins: [],
    warnings,
  };
}

export const rudderSourceConfig = (id: string, writeKey: string, warnings: readonly object[]) => ({
  source: {
    id,
    name: "onym",
    writeKey,
    enabled: true,
    config: { statsCollection: { errors: { enabled: false }, metrics: { enabled: false } } },
    destinations: [],
  },
  warnings,
});

/** Without a limit a key that is not collect-only joins two people who share a device. */
export async function warningsOf(
  { catalog }: Pick<Services, "catalog">,
  workspace: WorkspaceId,
): Promise<readonly object[]> {
  const table = namespaceTable(await catalog.namespaces(workspace));
  if (table.get("user_id")?.limit !== null) return [];
  const message =
    "user_id has no limit. This key cannot join two of them, but identify and alias with other keys can, and no device counts as shared. To keep people apart, send PUT /v1/namespaces/user_id with limit 1.";
  return [{ code: "user_id_without_limit", message }];
}
