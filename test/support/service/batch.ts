import type http from "node:http";
import { listAt, now, send, type Answer, type App, type TestWorkspace } from "./app.js";

export interface BatchItem {
  readonly schema_id?: unknown;
  readonly timestamp?: unknown;
  readonly payload?: unknown;
  readonly idempotency_key?: unknown;
}

export interface Result {
  readonly status: "accepted" | "rejected" | "withheld" | "pass" | "fail";
  readonly event_id?: string;
  readonly code?: string;
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
}

export const resultsOf = (answer: Answer): readonly Result[] => listAt(answer.body, "results") as readonly Result[];
/** One word for each: the status, and the code of a refusal. */
export const wordsOf = (answer: Answer): readonly string[] =>
  resultsOf(answer).map(({ status, code }) => (code === undefined ? status : `${status} ${code}`));

export const itemOf = (schemaId: string, payload: unknown, more: BatchItem = {}): BatchItem => ({
  schema_id: schemaId,
  timestamp: now(),
  payload,
  ...more,
});

export interface Posting {
  readonly query?: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly key?: string;
}

const TARGET = "/v1/collect/batch";

/** Sends a body as it is, or as JSON. */
export async function postBatch(
  app: Pick<App, "url">,
  workspace: TestWorkspace,
  body: unknown,
  { query = "", headers = {}, key }: Posting = {},
): Promise<Answer> {
  return send(app.url, "POST", `${TARGET}${query}`, { key: key ?? (await workspace.key("owner")), body, headers });
}

export const NDJSON = { "Content-Type": "application/x-ndjson" };
export const linesOf = (items: readonly unknown[]): string => items.map((item) => `${JSON.stringify(item)}\n`).join("");
