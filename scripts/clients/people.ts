import { isDeepStrictEqual } from "node:util";
import { eventually } from "../shared/async.js";
import type { Program } from "./install.js";
import { startClient, type Call, type Report } from "./process.js";
import { findProfile, readEvents, type Identifier } from "./profiles.js";
import type { Sdk } from "./sdks.js";
import type { Service } from "./service.js";

const USER = { namespace: "user_id", value: "u-1" };
const ANONYMOUS_ID = "anon-1";
const EMAIL = { namespace: "email", value: "ada@example.com" };
const TRAITS = { email: "Ada@Example.com", phone: "+4915123456789", plan: "pro" };
/** The company's address is nobody's. */
const COMPANY = { name: "Acme", email: "info@acme.example" };
/** Also for a page that starts beside much else. */
const FOLDED_MS = 60_000;

/** Every kind of call of a server's SDK about one person: first as a visitor, then by name. */
const SERVER_CALLS: readonly Call[] = [
  { type: "track", event: "Viewed", anonymousId: ANONYMOUS_ID, properties: { product: "p-1" } },
  { type: "page", name: "Home", anonymousId: ANONYMOUS_ID, properties: { section: "start" } },
  { type: "identify", userId: USER.value, anonymousId: ANONYMOUS_ID, traits: TRAITS },
  { type: "track", event: "Order Completed", userId: USER.value, properties: { total: 9.5 } },
  { type: "screen", name: "Main", userId: USER.value, properties: { dark: true } },
  { type: "group", groupId: "g-1", userId: USER.value, traits: COMPANY },
  { type: "alias", userId: USER.value, previousId: ANONYMOUS_ID },
];

/** The same of a web page, whose SDK adds the visitor. The second alias joins nobody: both its sides are the person. */
const browserCalls = ({ name }: Sdk): readonly Call[] => [
  { type: "track", event: "Viewed", properties: { product: "p-1" } },
  { type: "page", name: "Home", properties: { section: "start" } },
  ...(name === "segment-browser" ? [{ type: "screen", name: "Main", properties: { dark: true } } as const] : []),
  { type: "alias", userId: USER.value },
  { type: "identify", userId: USER.value, traits: TRAITS },
  { type: "track", event: "Order Completed", properties: { total: 9.5 } },
  { type: "group", groupId: "g-1", traits: COMPANY },
  { type: "alias", userId: USER.value },
];

/** Sends every kind of call in each form that the SDK has for it. Says what is not as it should be then. */
export async function checkCalls(service: Service, sdk: Sdk, program: Program): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const options of sdk.wires) {
    const found = await checkPerson(service, sdk, program, options);
    wrong.push(...found.map((what) => `with ${JSON.stringify(options)}: ${what}`));
  }
  return wrong;
}

/** One person in a workspace that knows nobody. */
async function checkPerson(service: Service, sdk: Sdk, program: Program, options: object): Promise<readonly string[]> {
  const { client, url } = service;
  const { owner, writeKey } = await service.openWorkspace(sdk.name);
  const isBrowser = sdk.language === "browser";
  const calls = isBrowser ? browserCalls(sdk) : SERVER_CALLS;
  const folded = async () => {
    const profile = await findProfile(client, owner, USER);
    if (profile === null) throw new Error("nobody is known by the user's id");
    if (profile.event_count < calls.length) throw new Error(`${profile.event_count} of ${calls.length} events came`);
    return profile;
  };

  const process = startClient(program, { url, key: writeKey, options });
  for (const call of calls) process.call(call);
  // A browser's program ends when it is told to, settled or not.
  if (isBrowser) await eventually(folded, FOLDED_MS).catch(() => {});
  const report = await process.finish();
  const profile = await eventually(folded, FOLDED_MS);

  const visitor = { namespace: "anonymous_id", value: report.anonymousId ?? ANONYMOUS_ID };
  const kinds = (await readEvents(client, owner, profile)).map((event) => event.schema_id);
  const company = await findProfile(client, owner, { namespace: "email", value: COMPANY.email });
  return [
    ...(isBrowser ? browserSays(report) : sdkSays(report, calls.length)),
    ...difference("identifiers", namesOf(profile.identifiers), namesOf([USER, EMAIL, visitor])),
    ...difference("traits", profile.traits, TRAITS),
    ...difference("events", kinds.toSorted(), calls.map(({ type }) => `sdk.${type}`).toSorted()),
    ...difference("profile of the company's address", company, null),
  ];
}

const browserSays = ({ problems, elsewhere }: Report): readonly string[] =>
  difference("the browser", { problems, elsewhere }, { problems: [], elsewhere: [] });

const sdkSays = ({ delivered, gaveUp }: Report, calls: number): readonly string[] =>
  difference("the SDK's own count", { delivered, gaveUp }, { delivered: calls, gaveUp: [] });

const namesOf = (identifiers: readonly Identifier[]): readonly string[] =>
  identifiers.map(({ namespace, value }) => `${namespace}:${value}`).toSorted();

const difference = (what: string, found: unknown, wanted: unknown): readonly string[] =>
  isDeepStrictEqual(found, wanted) ? [] : [`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`];
