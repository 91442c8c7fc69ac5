import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parser } from "@prometheus-io/lezer-promql";
import { parse as parseYaml } from "yaml";
import { runsOf } from "../support/random/random.js";
import { at, listAt, startApp, textAt, type App, type TestWorkspace } from "../support/service/app.js";

interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly metrics: readonly unknown[];
}
/** It brings no types. */
const parsePrometheus = createRequire(import.meta.url)("parse-prometheus-text-format") as (
  text: string,
) => readonly Family[];

/** 10,000 with SCALE=8. */
const THROWN = runsOf(1_250);
const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const textOf = (file: string): string => readFileSync(path.join(ROOT, file), "utf8");
const metricsOf = async (app: App): Promise<string> => (await app.send("GET", "/metrics")).text;

/** What a query asks for, by Prometheus' own grammar. */
interface Asked {
  readonly metrics: readonly string[];
  readonly labels: readonly string[];
  /** Metrics whose absence makes the query true. */
  readonly absent: readonly string[];
  readonly hasError: boolean;
}

function read(query: string): Asked {
  const [metrics, labels]: [string[], string[]] = [[], []];
  const absent = query.split(" or ").flatMap((part) => /^absent\((\w+)\)$/.exec(part)?.[1] ?? []);
  let hasError = false;
  parser.parse(query).iterate({
    enter: ({ name, type, from, to, node }) => {
      hasError ||= type.isError;
      if (name === "Identifier" && node.parent?.name === "VectorSelector") metrics.push(query.slice(from, to));
      if (name === "LabelName") labels.push(query.slice(from, to));
    },
  });
  return { metrics, labels, absent, hasError };
}

/** Grafana puts a time there. */
const filledIn = (query: string): string => query.replaceAll("$__rate_interval", "5m");

const dashboardQueries = (): readonly string[] =>
  listAt(JSON.parse(textOf("deploy/grafana/onym.json")), "panels").flatMap((panel) =>
    listAt(panel, "targets").map((target) => filledIn(textAt(target, "expr"))),
  );
const alertRules = (): readonly unknown[] =>
  listAt(parseYaml(textOf("deploy/prometheus/onym-alerts.yml")), "groups").flatMap((group) => listAt(group, "rules"));

/** Prometheus says it of each process that it reads. */
const OWN_METRIC = "up";
/** Prometheus adds these to what it reads. */
const ADDED_LABELS = ["job", "instance"];

describe("What reads the metrics", () => {
  let app: App;
  let workspace: TestWorkspace;
  before(async () => {
    app = await startApp({ INLINE_PER_MINUTE: "1000000" });
    workspace = await app.workspace();
    const schemaId = await workspace.schema();
    const sent = await workspace.collect(schemaId, { email: "ada@example.com" });
    await workspace.settled(textAt(sent.body, "event_id"));
  });
  after(() => app.close());

  it("a parser of Prometheus' format finds each metric with its type and help", async () => {
    const families = parsePrometheus(await metricsOf(app));
    const types = new Map(families.map(({ name, type }) => [name, type]));
    const expected = {
      onym_build_info: "GAUGE",
      onym_clock_behind_seconds: "GAUGE",
      onym_dead_letters_total: "COUNTER",
      onym_dependency_up: "GAUGE",
      onym_event_fold_delay_seconds: "HISTOGRAM",
      onym_events_accepted_total: "COUNTER",
      onym_events_dropped_total: "COUNTER",
      onym_http_request_duration_seconds: "HISTOGRAM",
      onym_http_requests_total: "COUNTER",
      onym_identity_changes_total: "COUNTER",
      onym_identity_queue_wait_seconds: "HISTOGRAM",
      onym_erasures_oldest_seconds: "GAUGE",
      onym_erasures_open: "GAUGE",
      onym_keeper_failures_total: "COUNTER",
      onym_keeper_lag_seconds: "GAUGE",
      onym_keeper_runs_total: "COUNTER",
      onym_queue_messages: "GAUGE",
      onym_queue_oldest_seconds: "GAUGE",
      onym_sdk_duplicates_total: "COUNTER",
      onym_sdk_mismatches_total: "COUNTER",
      onym_store_commit_seconds: "HISTOGRAM",
    };
    for (const [name, type] of Object.entries(expected)) assert.equal(types.get(name), type, name);
    for (const { name, help } of families) assert.match(help, /\S/, name);
    const folds = families.find(({ name }) => name === "onym_event_fold_delay_seconds")!.metrics[0];
    assert.equal(at(folds, "count"), "1");
    assert.equal(Object.keys(at(folds, "buckets") as object).at(-1), "+Inf");
  });

  it("each query of the dashboard and each alert names metrics and labels that there are", async () => {
    const text = await metricsOf(app);
    const names = new Set(
      [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name, type]) => seriesOf(name!, type!)),
    );
    const labels = new Set([...text.matchAll(/([a-z_]+)="/g)].map(([, label]) => label));
    const counted = ["code", "reason", "outcome", "store", "task"];
    const queries = [...dashboardQueries(), ...alertRules().map((rule) => textAt(rule, "expr"))];
    assert.ok(queries.length > 20);
    for (const query of queries) {
      const asked = read(query);
      assert.equal(asked.hasError, false, query);
      assert.ok(asked.metrics.length > 0, query);
      for (const metric of asked.metrics)
        assert.ok(metric === OWN_METRIC || names.has(metric), `${metric} in ${query}`);
      for (const label of asked.labels)
        assert.ok(labels.has(label) || [...ADDED_LABELS, ...counted].includes(label), `${label} in ${query}`);
    }
  });

  it("the grammar sees a wrong name and a wrong query", () => {
    const asked = { metrics: ["b"], labels: ["a", "c"], absent: [], hasError: false };
    assert.deepEqual(read("sum by (a) (rate(b{c='d'}[5m]))"), asked);
    assert.deepEqual(read("a == 0 or absent(b)").absent, ["b"]);
    assert.equal(read("sum by (rate(b[5m])").hasError, true);
  });

  it("an alert says that no process is there, or none that works, and that one does not answer", () => {
    const queries = alertRules().map((rule) => textAt(rule, "expr"));
    // Each process has the first, and only one with a keeper the second.
    for (const metric of ["onym_build_info", "onym_keeper_lag_seconds"])
      assert.ok(
        queries.some((query) => read(query).absent.includes(metric)),
        metric,
      );
    const job = textOf("docs/operations.md").match(/job_name: (\w+)/)![1]!;
    assert.ok(queries.some((query) => query.includes(`up{job="${job}"} == 0`)));
  });

  it("no alert asks for the least of what each process counts since its start: a new one would hide all others", () => {
    for (const rule of alertRules()) assert.doesNotMatch(textAt(rule, "expr"), /\bmin\b[^)]*\)?[^)]*_lag_seconds/);
  });

  it("there are eleven alerts, and the page tells what to do at each", () => {
    const rules = alertRules();
    assert.equal(rules.length, 11);
    const headings = new Set(
      textOf("docs/operations.md")
        .match(/^#+ .*$/gm)!
        .map((line) => line.replace(/^#+ /, "").toLowerCase()),
    );
    for (const rule of rules) {
      const runbook = textAt(rule, "annotations.runbook");
      assert.equal(runbook, `docs/operations.md#${textAt(rule, "alert").toLowerCase()}`);
      assert.ok(headings.has(runbook.split("#")[1]!), runbook);
    }
  });

  it(`${THROWN} keys, schemas and paths make no more series`, async () => {
    const key = await workspace.key("editor");
    const seriesNow = async (): Promise<number> =>
      (await metricsOf(app)).split("\n").filter((line) => line !== "" && !line.startsWith("#")).length;
    const before = await seriesNow();
    const one = (n: number): Promise<unknown> => {
      if (n % 4 === 0) return app.send("GET", `/v1/made-up-${n}/${n}`, { key });
      if (n % 4 === 1) return app.send("GET", `/v1/events/${n}?${n}=1`, { key });
      if (n % 4 === 2)
        return app.send("POST", "/v1/collect", { key: `onym_${String(n).padStart(10, "k")}_x`, body: {} });
      return app.send("POST", "/v1/collect", { key, body: { schema_id: `s${n}`, timestamp: NOW, payload: {} } });
    };
    for (let n = 0; n < THROWN; n += 50) await Promise.all(Array.from({ length: 50 }, (_, more) => one(n + more)));
    const after = await seriesNow();
    assert.ok(after < 2_000, `${after} series`);
    // Statuses and routes that were not seen before, each once.
    assert.ok(after - before < 60, `${after - before} more series`);
    assert.doesNotMatch(await metricsOf(app), /made-up|="s\d|kkkk/);
  });
});

const NOW = "2026-01-01T00:00:00Z";
const seriesOf = (name: string, type: string): readonly string[] =>
  type === "histogram" ? ["_bucket", "_sum", "_count"].map((end) => name + end) : [name];
