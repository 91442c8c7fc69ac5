import { resolve } from "node:path";
import { createPurge } from "../../commands/erasures/purge.js";
import { ConfigError, type Config } from "../../core/config.js";
import { NO_METRICS } from "../../core/metrics.js";
import type { Log } from "../../core/log.js";
import { openValidator } from "../../core/schema/validation/validator.js";
import { createIdentity } from "../../graph/identity.js";
import { makeCopyFolder } from "../../store/embedded/file/copies.js";
import { describePages, isRunning, verifyFolder } from "../../store/embedded/file/verify.js";
import { gainOf } from "../../worker/complete-events.js";
import { createSchemaReader } from "../../worker/schemas.js";
import { askForBackup } from "../backup-socket.js";
import { servicesOf } from "../gateway.js";
import { openBackends } from "../backends.js";
import { createLifecycle } from "../lifecycle.js";
import { requireSettled } from "../move/marks.js";
import { rulesIn } from "../service.js";
import { contributeWith } from "../worker.js";
import { verifyDocuments } from "./documents.js";
import { createFindings, type Findings } from "./findings.js";
import { verifyMembers } from "./members.js";
import { verifyGraph } from "./graph.js";
import { createPatience, patientBackends } from "./patient.js";
import { verifyTallies } from "./tallies.js";

export interface Verified {
  readonly lines: readonly string[];
  /** Nothing differs any more. */
  readonly isWhole: boolean;
}

/** Reads all that the settings name, pages first, and puts right what can be derived if that is wanted. */
export async function verify(config: Config, log: Log, isRepair: boolean, now = Date.now): Promise<Verified> {
  const { DATA_DIR: dataDir, RABBITMQ_URL, MONGODB_URL, NEO4J_URL } = config;
  if (![RABBITMQ_URL, MONGODB_URL, NEO4J_URL].includes("")) return verifyRows(config, log, isRepair, now);
  if (isRunning(dataDir)) return verifyCopy(config, log, isRepair, now);
  const damage = verifyFolder(dataDir);
  const state = `${dataDir} (stopped)`;
  return damage.length > 0 ? damaged(state, damage) : whole(state, await verifyRows(config, log, isRepair, now));
}

const damaged = (state: string, damage: readonly string[]): Verified => ({
  lines: [...damage, `${state}: damaged; docs/operations.md says what to do`],
  isWhole: false,
});

const whole = (state: string, rows: Verified): Verified => ({
  ...rows,
  lines: [`${state}: all pages are whole`, ...rows.lines],
});

const AWAY =
  "onym.db was removed, moved or replaced: move it back, or save it with `npm run backup` before the service is stopped";

/**
 * The process that runs owns its file, so all is read in a backup that it makes. In the file itself a page may be older than its log has
 * it, for as long as the disk is full: it would seem damaged.
 */
async function verifyCopy(config: Config, log: Log, isRepair: boolean, now: () => number): Promise<Verified> {
  const { DATA_DIR: dataDir, RABBITMQ_URL, MONGODB_URL, NEO4J_URL } = config;
  // The parts on servers go on while the file's parts are read as they were: what came meanwhile would seem to differ.
  if ([RABBITMQ_URL, MONGODB_URL, NEO4J_URL].some((url) => url !== ""))
    throw new ConfigError(
      `DATA_DIR: a process uses the folder ${dataDir}: stop it before verify, because some parts are on servers`,
    );
  if (isRepair)
    throw new ConfigError(
      `DATA_DIR: a process uses the folder ${dataDir}: stop it before --repair; without it, verify works beside it`,
    );
  const copy = makeCopyFolder(dataDir);
  try {
    const file = resolve(copy.folder, "onym.db");
    const made = await askForBackup(dataDir, file);
    if (made === null) throw new Error(`the process that uses ${dataDir} makes no copy: stop it, then verify again`);
    if ("error" in made) throw new Error(`no copy could be made: ${made.error}`);
    const state = `${dataDir} (running)`;
    if (made.damaged.length > 0) return damaged(state, describePages(file, made.damaged));
    const rows = whole(state, await verifyRows({ ...config, DATA_DIR: copy.folder }, log, false, now));
    return made.isInPlace ? rows : { lines: [`${state}: ${AWAY}`, ...rows.lines], isWhole: false };
  } finally {
    copy.remove();
  }
}

async function verifyRows(config: Config, log: Log, isRepair: boolean, now: () => number): Promise<Verified> {
  const lifecycle = createLifecycle(log);
  const findings: Findings = createFindings();
  try {
    const opened = await openBackends(config, log, lifecycle);
    // What a move has still to bring is no damage.
    if (isRepair) await requireSettled(opened.places);
    const patient = createPatience();
    const backends = patientBackends(opened, patient);
    const validator = openValidator({ compileMs: config.SCHEMA_COMPILE_MS, validationMs: config.VALIDATION_MS });
    lifecycle.opened("validator", () => validator.close());
    const requireSchema = createSchemaReader(backends.catalog);
    const contribute = contributeWith(validator);
    const { catalog, graph, stats } = opened;
    const identity = patient(
      "identity",
      createIdentity({ graph, timeoutMs: config.IDENTITY_TIMEOUT_MS, rulesOf: rulesIn(catalog) }),
    );
    await verifyGraph(backends, findings, isRepair);
    await verifyDocuments({
      backends,
      identity,
      findings,
      isRepair,
      gainOf: (event) => gainOf({ contribute }, requireSchema, event),
      now,
    });
    // Before who is in which audience, which is judged by it.
    await verifyTallies({ backends, findings, isRepair, now: now() });
    const purge = createPurge(backends.purge);
    const parts = { config, log, now, backends, identity, validator, purge, metrics: NO_METRICS, stats };
    await verifyMembers({ backends, services: servicesOf(parts), findings, isRepair, now });
  } finally {
    await lifecycle.close();
  }
  const open = findings.open();
  const last = open === 0 ? "all rows agree" : `${open} differences; docs/operations.md says what each means`;
  return { lines: [...findings.lines(), last], isWhole: open === 0 };
}
