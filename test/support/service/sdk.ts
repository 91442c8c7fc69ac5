import { createAcceptItems, type SdkAcceptance } from "../../../commands/sdk/accept-items.js";
import { createPurge } from "../../../commands/erasures/purge.js";
import { silentLog } from "../../../app/logger.js";
import { servicesOf } from "../../../app/gateway.js";
import { readConfig } from "../../../core/config.js";
import { sdkEventIdFor, type EventId, type KeyId, type WorkspaceId } from "../../../core/ids.js";
import { NO_METRICS } from "../../../core/metrics.js";
import { openEnvelope } from "../../../core/sdk/envelope.js";
import { openValidator } from "../../../core/schema/validation/validator.js";
import type { App, Settings, TestWorkspace } from "./app.js";

const KEY = "testkey000" as KeyId;

/** What an SDK's batch does behind its HTTP. */
export function openSdkDoor(app: App, settings: Settings = {}) {
  const config = readConfig({ SCHEMA_COMPILE_MS: "5000", VALIDATION_MS: "5000", ...settings });
  const validator = openValidator({ compileMs: config.SCHEMA_COMPILE_MS, validationMs: config.VALIDATION_MS });
  const { backends, identity } = app.service;
  const { stats } = backends;
  const purge = createPurge(backends.purge);
  const acceptItems = createAcceptItems(
    servicesOf({
      config,
      log: silentLog,
      now: Date.now,
      backends,
      identity,
      validator,
      purge,
      metrics: NO_METRICS,
      stats,
    }),
  );
  const sendText = (workspace: TestWorkspace, text: string, send: "collect" | "all"): Promise<SdkAcceptance> => {
    const bytes = Buffer.from(text);
    const caller = { workspace: workspace.id as WorkspaceId, keyId: KEY, sender: KEY, send, now: Date.now() };
    return acceptItems(caller, { bytes, envelope: openEnvelope(bytes, true), type: null });
  };
  return {
    send: (workspace: TestWorkspace, batch: readonly unknown[], send: "collect" | "all" = "collect") =>
      sendText(workspace, JSON.stringify({ batch }), send),
    /** The body as it is, for what no value of JavaScript writes. */
    sendText,
    eventIdOf: (workspace: TestWorkspace, messageId: string): EventId =>
      sdkEventIdFor(workspace.id as WorkspaceId, KEY, messageId),
    close: () => validator.close(),
  };
}
