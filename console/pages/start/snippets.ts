/** Who sends: each has a key of its own kind. */
export const SENDERS = [
  {
    id: "browser",
    name: "A web page or an app",
    note: "With an SDK of Segment or RudderStack. Its key is public, so it may only send what an SDK sends, identify included, and only about its own visitor.",
    send: "collect",
    keyName: "web page",
  },
  {
    id: "sdk",
    name: "A back end with an SDK",
    note: "With an SDK of Segment or RudderStack for servers. Its key may send what an SDK sends, identify included.",
    send: "collect",
    keyName: "back end, SDK",
  },
  {
    id: "api",
    name: "A back end with the API",
    note: "Any language that speaks HTTP. Its key may send events, and call identify and alias.",
    send: "all",
    keyName: "back end",
  },
] as const;

export type SenderId = (typeof SENDERS)[number]["id"];

export interface Snippet {
  readonly id: string;
  readonly name: string;
  readonly text: string;
}

const host = (url: string): string => url.replace(/^https?:\/\//, "");

const CALLS = `identify("u-1", { email: "ada@example.com" })`;

const browser = (key: string, url: string): readonly Snippet[] => [
  {
    id: "segment-browser",
    name: "Segment, browser",
    text: `import { AnalyticsBrowser } from "@segment/analytics-next";

const analytics = AnalyticsBrowser.load({
  writeKey: "${key}",
  cdnURL: "${url}",
});
analytics.${CALLS};
analytics.track("Order Completed", { total: 9.5 });`,
  },
  {
    id: "rudder-browser",
    name: "RudderStack, browser",
    text: `import { RudderAnalytics } from "@rudderstack/analytics-js";

const analytics = new RudderAnalytics();
analytics.load("${key}", "${url}", { configUrl: "${url}" });
analytics.${CALLS};
analytics.track("Order Completed", { total: 9.5 });`,
  },
  {
    id: "segment-mobile",
    name: "Segment, Kotlin and Swift",
    text: `// They need https.
// Kotlin
Analytics("${key}", context) {
  apiHost = "${host(url)}/v1"
  cdnHost = "${host(url)}/v1"
}
// Swift
Configuration(writeKey: "${key}")
  .apiHost("${host(url)}/v1")
  .cdnHost("${host(url)}/v1")`,
  },
  curlOfSdk(key, url),
];

const sdk = (key: string, url: string): readonly Snippet[] => [
  {
    id: "segment-node",
    name: "Segment, Node",
    text: `import { Analytics } from "@segment/analytics-node";

const analytics = new Analytics({ writeKey: "${key}", host: "${url}" });
analytics.identify({ userId: "u-1", anonymousId: "a-1", traits: { email: "ada@example.com" } });
analytics.track({ userId: "u-1", event: "Order Completed", properties: { total: 9.5 } });`,
  },
  {
    id: "segment-python",
    name: "Segment, Python",
    text: `from segment.analytics.client import Client

analytics = Client("${key}", host="${url}")
analytics.identify(user_id="u-1", anonymous_id="a-1", traits={"email": "ada@example.com"})
analytics.track(user_id="u-1", event="Order Completed", properties={"total": 9.5})
analytics.flush()`,
  },
  {
    id: "segment-go",
    name: "Segment, Go",
    text: `client, _ := analytics.NewWithConfig("${key}", analytics.Config{Endpoint: "${url}"})
defer client.Close()
client.Enqueue(analytics.Identify{UserId: "u-1", Traits: analytics.NewTraits().SetEmail("ada@example.com")})`,
  },
  {
    id: "segment-java",
    name: "Segment, Java",
    text: `Analytics analytics = Analytics.builder("${key}").endpoint("${url}/").build();
analytics.enqueue(IdentifyMessage.builder().userId("u-1").traits(Map.of("email", "ada@example.com")));`,
  },
  {
    id: "rudder-node",
    name: "RudderStack, Node",
    text: `import RudderAnalytics from "@rudderstack/rudder-sdk-node";

const analytics = new RudderAnalytics("${key}", { dataPlaneUrl: "${url}" });
analytics.identify({ userId: "u-1", anonymousId: "a-1", traits: { email: "ada@example.com" } });
analytics.track({ userId: "u-1", event: "Order Completed", properties: { total: 9.5 } });`,
  },
  curlOfSdk(key, url),
];

function curlOfSdk(key: string, url: string): Snippet {
  return {
    id: "curl-sdk",
    name: "curl",
    text: `curl -sS '${url}/v1/batch' -u '${key}:' -d '{"batch": [
  {"type": "identify", "anonymousId": "a-1", "userId": "u-1", "traits": {"email": "ada@example.com"}},
  {"type": "track", "anonymousId": "a-1", "event": "Order Completed", "properties": {"total": 9.5}}
]}'`,
  };
}

const api = (key: string, url: string, now: string): readonly Snippet[] => [
  {
    id: "curl-api",
    name: "curl",
    text: `curl -sS '${url}/v1/collect' \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{"schema_id": "signup", "timestamp": "${now}", "payload": {"email": "ada@example.com", "city": "London"}}'`,
  },
  {
    id: "typescript",
    name: "TypeScript",
    text: `import { createClient } from "./client/client.js";

const onym = createClient({ url: "${url}", key: "${key}" });
await onym.collect({
  schema_id: "signup",
  payload: { email: "ada@example.com", city: "London" },
});
await onym.close();`,
  },
  {
    id: "identify",
    name: "curl, identify",
    text: `curl -sS '${url}/v1/identify' \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{"identifiers": [{"namespace": "email", "value": "ada@example.com"}, {"namespace": "user_id", "value": "u-1"}]}'`,
  },
];

/** What a sender has to be told, with its key in it. */
export function snippetsOf(sender: SenderId, key: string, url: string, now: string): readonly Snippet[] {
  if (sender === "browser") return browser(key, url);
  return sender === "sdk" ? sdk(key, url) : api(key, url, now);
}
