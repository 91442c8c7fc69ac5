import type { WorkspaceId } from "../core/ids.js";
import { incompatibilities } from "../core/schema/compatibility/compatibility.js";
import { extract } from "../core/schema/plan.js";
import { examineSchema } from "../core/schema/register.js";
import { createAuthenticator } from "../gateway/access/authenticate.js";
import type { CollectDeps } from "../gateway/routes/collect.js";
import { createCursors } from "../gateway/shapes/cursor.js";
import { createPipeline, type Pipeline } from "../gateway/http/pipeline.js";
import { createLimiter } from "../gateway/access/rate-limit.js";
import type { Route } from "../gateway/route.js";
import { createRoutes, type RoutesDeps } from "../gateway/routes.js";
import type { Parts } from "./parts.js";

/** Collect bodies may be a little larger than their payload. */
const ENVELOPE_BYTES = 4_096;

/** What every request of this process goes through. `isDraining` is true once the process takes no new requests. */
export function pipelineOf({ config, log, now, backends }: Parts, isDraining: () => boolean): Pipeline {
  return createPipeline({
    authenticator: createAuthenticator({ catalog: backends.catalog, operatorKey: config.OPERATOR_KEY, now }),
    authFailures: createLimiter(backends.windows, {
      name: "authentication",
      perMinute: config.AUTH_FAILURES_PER_MINUTE,
      detail: "Too many failed authentications.",
    }),
    inlineLimit: createLimiter(backends.windows, {
      name: "inline-validation",
      perMinute: config.INLINE_PER_MINUTE,
      detail: "Too many inline validations. Wait, or use the asynchronous mode.",
    }),
    eventLimit: {
      bytesMax: config.PAYLOAD_BYTES_MAX + ENVELOPE_BYTES,
      toldMax: config.PAYLOAD_BYTES_MAX,
      path: "payload",
    },
    bodyLimit: { bytesMax: config.BODY_BYTES_MAX, toldMax: config.BODY_BYTES_MAX, path: "" },
    isDraining,
    log,
    now,
  });
}

/** The routes under `/v1`. */
export const apiRoutes = async (parts: RouteParts): Promise<readonly Route[]> => createRoutes(await routesDeps(parts));

export type RouteParts = Pick<Parts, "config" | "backends" | "identity" | "validator">;

async function routesDeps({ config, backends, identity, validator }: RouteParts): Promise<RoutesDeps> {
  const { catalog, queue, events, profiles } = backends;
  const cursors = createCursors(await catalog.secret());
  const limits = { identifiersMax: config.IDENTIFIERS_MAX, namespacesMax: config.NAMESPACES_MAX };
  const collect: CollectDeps = {
    ...limits,
    catalog,
    queue,
    events,
    validator: {
      check: (schema, payload, bytes) => validator.check(schema, payload, bytes),
      checkAll: (schema, bytes) => validator.checkAll(schema, bytes),
      extract: (schema, payload) => extract(validator.plan(schema), payload),
    },
    payloadBytesMax: config.PAYLOAD_BYTES_MAX,
    depthMax: config.DEPTH_MAX,
  };
  const examiner = {
    examine: (workspace: WorkspaceId, schema: unknown, bytes: number) =>
      examineSchema(schema, bytes, validator.thread, workspace),
    incompatibilities,
  };
  return {
    collect,
    identify: { ...limits, catalog, identity },
    profiles: { catalog, identity, profiles, events, cursors, identifiersMax: config.PROFILE_IDENTIFIERS_MAX },
    profileGraph: { identity, cursors },
    events: { events, identity },
    explain: { catalog, identity, cursors },
    undo: { catalog, identity, cursors },
    changes: { identity, cursors },
    schemas: { catalog, examiner, cursors },
    datasets: { catalog, cursors },
    namespaces: { catalog, identity, cursors },
    identitySettings: { catalog },
    deadLetters: { events, cursors },
    keys: { catalog, cursors, rotationGraceS: config.KEY_ROTATION_GRACE_S },
    workspaces: config.OPERATOR_KEY === "" ? null : { catalog, cursors },
  };
}
