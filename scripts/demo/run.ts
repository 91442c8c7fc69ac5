import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { silentLog } from "../../app/logger.js";
import { startService } from "../../app/service.js";
import { readConfig } from "../../core/config.js";
import { openClient } from "./client.js";
import { compare } from "./compare.js";
import { openDeployment } from "./deployment.js";
import { expectedGroups, identifiersOf, identifies, type Group } from "./expected.js";
import { feed, waitUntilFolded } from "./feed.js";
import { parseKeys } from "./keys.js";
import { lookUpAll, type FoundProfiles } from "./profiles.js";
import { readTable, type Table } from "./records.js";
import { summarize, type Summary } from "./summary.js";

export interface DemoOptions {
  readonly files: readonly string[];
  /** Column names, several joined by `+`. */
  readonly keys: readonly string[];
  /** The column whose value names the record itself, so that a record is somebody even when nothing else says who. */
  readonly id: string | null;
  /** Null: every column. */
  readonly traits: readonly string[] | null;
  readonly concurrency: number;
  /** Of a running service; `deployment`: processes of our own on real servers; null: one on a temporary folder. */
  readonly server: { readonly url: string; readonly key: string } | "deployment" | null;
  readonly onProgress: (done: number, total: number, what: string) => void;
}

export interface DemoResult {
  readonly summary: Summary;
  readonly eventsPerSecond: number;
  /** Who belongs together by the keys, and what the service made of it. */
  readonly groups: readonly Group[];
  readonly found: FoundProfiles;
  /** Against a union-find over the same keys. Meaningful in a workspace that knew none of the identifiers before. */
  readonly differences: readonly string[];
}

export async function runDemo(options: DemoOptions): Promise<DemoResult> {
  const table = readTable(options.files);
  if (options.server === "deployment") {
    const deployment = await openDeployment(process.env);
    try {
      return await demonstrate(options, table, deployment.url, deployment.key);
    } finally {
      await deployment.close();
    }
  }
  if (options.server !== null) return demonstrate(options, table, options.server.url, options.server.key);
  const folder = await mkdtemp(path.join(tmpdir(), "onym-demo-"));
  try {
    const service = await startService({ config: readConfig({ DATA_DIR: folder, PORT: "0" }), log: silentLog });
    try {
      return await demonstrate(options, table, service.url, service.ownerKey!);
    } finally {
      await service.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function demonstrate(options: DemoOptions, table: Table, url: string, apiKey: string): Promise<DemoResult> {
  const { concurrency, onProgress } = options;
  const keys = parseKeys([...options.keys, ...(options.id === null ? [] : [options.id])], table.columns);
  const traits = options.traits ?? table.columns;
  const client = openClient(url, apiKey, concurrency);
  try {
    const feedOptions = { client, table, keys, traits, concurrency, onProgress };
    const { eventIds, seconds } = await feed(feedOptions);
    await waitUntilFolded(feedOptions, eventIds, identifies);
    const records = table.records.map((record) => identifiersOf(record, keys));
    const found = await lookUpAll(client, records.flat(), onProgress);
    const groups = expectedGroups(records);
    return {
      summary: summarize(records, found),
      eventsPerSecond: records.length / seconds,
      groups,
      found,
      differences: compare(groups, found),
    };
  } finally {
    client.close();
  }
}
