import { gzipSync } from "node:zlib";
import { until, type Answer, type App, type TestWorkspace } from "../service/app.js";

export const basic = (key: string): string => `Basic ${Buffer.from(`${key}:`).toString("base64")}`;

export interface SdkSending {
  /** As the user name of Authorization: Basic; null: there is none in the head. */
  readonly key?: string | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly gzip?: boolean;
}

/** One request as SDKs send it: any media type, the key as user name. */
export function sendSdk(app: App, target: string, { key = null, body, headers = {}, gzip = false }: SdkSending) {
  const text = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return app.send("POST", target, {
    body: gzip ? gzipSync(text) : text,
    headers: {
      "Content-Type": "text/plain",
      ...(key !== null && { Authorization: basic(key) }),
      ...(gzip && { "Content-Encoding": "gzip" }),
      ...headers,
    },
  });
}

export const track = (more: object = {}) => ({
  type: "track",
  event: "Order Completed",
  userId: "u-1",
  messageId: crypto.randomUUID(),
  timestamp: new Date().toISOString(),
  ...more,
});

type Identifier = readonly [namespace: string, value: string];

/** The profile of an identifier, once it holds so many events. */
export async function profileOf(
  workspace: TestWorkspace,
  [namespace, value]: Identifier,
  events: number,
): Promise<Answer["body"] | null> {
  const answer = await until(
    () => workspace.send("POST", "/v1/profiles/lookup?wait=5", { identifiers: [{ namespace, value }] }),
    ({ body }) => countOf(body) >= events,
  );
  return profilesIn(answer.body)[0] ?? null;
}

/** None while a busy server does not answer in time: then it is asked again. */
const profilesIn = (body: Answer["body"]): readonly Answer["body"][] =>
  (body["profiles"] ?? []) as readonly Answer["body"][];
const countOf = (body: Answer["body"]): number => Number(profilesIn(body)[0]?.["event_count"] ?? 0);

/** `namespace:value` of each, sorted. */
export const identifiersOf = (profile: Answer["body"] | null): readonly string[] =>
  ((profile?.["identifiers"] ?? []) as readonly { readonly namespace: string; readonly value: string }[])
    .map(({ namespace, value }) => `${namespace}:${value}`)
    .toSorted();
