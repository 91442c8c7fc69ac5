import assert from "node:assert/strict";
import { servicesOf } from "../../app/gateway.js";
import { createFindings } from "../../app/verify/findings.js";
import { verifyMembers } from "../../app/verify/members.js";
import { createPurge } from "../../commands/erasures/purge.js";
import { readConfig } from "../../core/config.js";
import type { Log } from "../../core/log.js";
import { NO_METRICS } from "../../core/metrics.js";
import { openValidator } from "../../core/schema/validation/validator.js";
import { listAt, textAt, useApp } from "../support/service/app.js";

const SILENT: Log = { info: () => {}, warn: () => {}, error: () => {} };
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

describe("npm run verify, of windows that end while it runs", () => {
  const app = useApp({});
  const config = readConfig({});
  const validator = openValidator({ compileMs: config.SCHEMA_COMPILE_MS, validationMs: config.VALIDATION_MS });
  after(() => validator.close());

  it("judges a profile by a time that is later than the look at it", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema({
      type: "object",
      properties: { email: { type: "string", "x-identity": { namespace: "email" } } },
    });
    const rule = { $events: { schema_id: schemaId, within: "1h" } };
    const audience = (await workspace.send("POST", "/v1/audiences", { name: "of the hour", rule })).body;
    const over = new Date(Date.now() - HOUR_MS - MINUTE_MS).toISOString();
    const sent = await workspace.send("POST", "/v1/collect", {
      schema_id: schemaId,
      payload: { email: "ada@example.com" },
      timestamp: over,
    });
    await workspace.settled(sent.body["event_id"]);
    await app().service.keeper!.rest();
    const listed = await workspace.send("GET", `/v1/audiences/${textAt(audience, "audience_id")}/members`);
    assert.equal(listAt(listed.body, "members").length, 0);

    const { backends, identity } = app().service;
    const { stats } = backends;
    const purge = createPurge(backends.purge);
    const parts = { config, now: Date.now, backends, identity, validator, purge, metrics: NO_METRICS, stats };
    const services = { ...servicesOf(parts), log: SILENT };
    const findings = createFindings();
    // It began when the window was open, and the seats were read when it was over.
    let time = Date.now() - 10 * MINUTE_MS;
    const { members: rows } = backends.copying;
    const dump: typeof rows.dump = (kind, page) => {
      if (kind === "seats") time = Date.now();
      return rows.dump(kind, page);
    };
    const copying = { ...backends.copying, members: { ...rows, dump } };
    await verifyMembers({ backends: { ...backends, copying }, services, findings, isRepair: false, now: () => time });
    assert.deepEqual(findings.lines(), []);
  });
});
