import { setTimeout as sleep } from "node:timers/promises";
import type { Http } from "../../client/http.js";
import type { LookedUp } from "../../client/client.js";
import { pages, read, type Command } from "../command.js";
import { CliError, EXIT, usage } from "../fail.js";
import { flagIn, identifierIn, wholeIn, type Identifier } from "../options.js";
import { plain, showIdentifier } from "../show.js";

const POLL_MS = 1_000;
/** Items of one look at a list: more than that happened since the last one are not waited for. */
const LOOK_MAX = 1_000;

type Item = Readonly<Record<string, unknown>>;

interface Feed {
  readonly path: string;
  readonly name: string;
  readonly id: string;
  readonly show: (item: Item) => string;
}

export const tail: Command = {
  name: "tail",
  summary: "follows changes, dead letters, or the events of one person",
  help: `onym tail [changes]                 who is linked to whom, as it happens
onym tail dead-letters              events that could not be processed
onym tail events NAMESPACE:VALUE    events of one profile
Ends with Ctrl-C.

  --last N         begins with the last N, 0 to 1000 (10)
  --once           shows these and ends
`,
  options: { last: { type: "string", default: "10" }, once: { type: "boolean" } },
  run: async ({ positionals, values, http, print }) => {
    const api = http(Infinity);
    const feed = await feedOf(api, positionals);
    let left = wholeIn(values, "last", { min: 0, max: LOOK_MAX })!;
    const isOnce = flagIn(values, "once");
    let newest: string | null = null;
    for (;;) {
      const items = await since(api, feed, newest, newest === null ? Math.max(left, 1) : LOOK_MAX);
      newest = (items[0]?.[feed.id] as string | undefined) ?? newest ?? "";
      for (const item of items.slice(0, left).toReversed()) await print(item, feed.show(item));
      if (isOnce) return EXIT.done;
      left = LOOK_MAX;
      await sleep(POLL_MS);
    }
  },
};

/** What is newer than the item of that id, newest first. */
async function since(
  http: Http,
  { path, name, id }: Feed,
  newest: string | null,
  max: number,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  for await (const item of pages<Item>(http, path, name)) {
    if (item[id] === newest || items.length >= max) break;
    items.push(item);
  }
  return items;
}

async function feedOf(http: Http, [what = "changes", identifier, ...more]: readonly string[]): Promise<Feed> {
  if (what === "events" && identifier !== undefined && more.length === 0) {
    const given = identifierIn(identifier);
    const path = `/v1/profiles/${await profileOf(http, given)}/events`;
    return { path, name: "events", id: "event_id", show: showEvent };
  }
  if (identifier !== undefined || !Object.hasOwn(FEEDS, what))
    throw usage("tail: must be changes, dead-letters, or events NAMESPACE:VALUE");
  return FEEDS[what as keyof typeof FEEDS];
}

async function profileOf(http: Http, identifier: Identifier): Promise<string> {
  const { profiles } = await read<LookedUp>(http, "/v1/profiles/lookup", { identifiers: [identifier] });
  if (profiles[0] === undefined) throw new CliError(EXIT.refused, `${showIdentifier(identifier)} has no profile`);
  return profiles[0].profile_id;
}

const showEvent = ({ timestamp, event_id: id, schema_id: schema, status, payload }: Item): string =>
  `${String(timestamp)} ${String(id)} ${String(schema)} ${String(status)} ${plain(JSON.stringify(payload))}`;

const showChange = ({ at, change_id: id, outcome, source, event_id: event, identifiers }: Item): string => {
  const from = event === null ? String(source) : `event ${event as string}`;
  const who = (identifiers as readonly Identifier[]).map(showIdentifier).join(" ");
  return `${String(at)} ${String(id)} ${String(outcome)} by ${from}: ${who}`;
};

const showDeadLetter = ({ at, dead_letter_id: id, event_id: event, reason }: Item): string =>
  `${String(at)} ${String(id)} ${plain(String(reason))} event ${event as string}`;

const FEEDS = {
  changes: { path: "/v1/changes", name: "changes", id: "change_id", show: showChange },
  "dead-letters": { path: "/v1/dead-letters", name: "dead_letters", id: "dead_letter_id", show: showDeadLetter },
} as const satisfies Readonly<Record<string, Feed>>;
