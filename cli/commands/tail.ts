import { setTimeout as sleep } from "node:timers/promises";
import type { Http } from "../../client/http.js";
import type { LookedUp } from "../../client/client.js";
import { pages, read, type Command } from "../command.js";
import { CliError, EXIT, usage } from "../fail.js";
import { flagIn, identifierIn, textIn, wholeIn, type Identifier } from "../options.js";
import { plain, showChanged, showIdentifier, type ChangedIdentifier } from "../show.js";

const POLL_MS = 1_000;
/** New items of one look at a list: when more came, the older ones of them are not shown. */
const LOOK_MAX = 1_000;
/** Items in a row that were shown before: behind them is nothing new. What waited for the worker may come behind a newer one. */
const SEEN_IN_ROW = 50;
/** What is behind these at the beginning is too old to be shown. */
const BEGIN = 4 * SEEN_IN_ROW;
const REMEMBERED_MAX = 20_000;

type Item = Readonly<Record<string, unknown>>;

interface Feed {
  readonly path: string;
  readonly name: string;
  readonly id: string;
  readonly show: (item: Item) => string;
}

export const tail: Command = {
  name: "tail",
  summary: "follows events, changes or dead letters",
  help: `onym tail [events]                  events, as they are stored
onym tail events NAMESPACE:VALUE    events of one profile
onym tail changes                   who is linked to whom, and why
onym tail dead-letters              events that could not be processed
Ends with Ctrl-C.

  --schema ID      only events of this schema
  --last N         begins with the last N, 0 to 1000 (10)
  --once           shows these and ends
`,
  options: {
    last: { type: "string", default: "10" },
    once: { type: "boolean" },
    schema: { type: "string" },
  },
  onlyPrints: true,
  run: async ({ positionals, values, http, print }) => {
    const api = http();
    const feed = await feedOf(api, positionals, textIn(values, "schema"));
    const last = wholeIn(values, "last", { min: 0, max: LOOK_MAX })!;
    const seen = new Set<unknown>();
    const first = await unseen(api, feed, seen, Math.max(last, BEGIN));
    for (const item of first.slice(0, last).toReversed()) await print(item, feed.show(item));
    // Who follows waits for a service that is away for a while.
    const patient = http(Infinity);
    while (!flagIn(values, "once")) {
      await sleep(POLL_MS);
      const items = await unseen(patient, feed, seen, LOOK_MAX);
      for (const item of items.toReversed()) await print(item, feed.show(item));
    }
    return EXIT.done;
  },
};

/** What is in the list and was not shown, newest first. */
async function unseen(http: Http, { path, name, id }: Feed, seen: Set<unknown>, max: number): Promise<readonly Item[]> {
  const items: Item[] = [];
  let inRow = 0;
  for await (const item of pages<Item>(http, path, name)) {
    const isSeen = seen.has(item[id]);
    inRow = isSeen ? inRow + 1 : 0;
    if (!isSeen) items.push(item);
    if (inRow === SEEN_IN_ROW || items.length === max) break;
  }
  for (const item of items.toReversed()) seen.add(item[id]);
  for (const old of seen) {
    if (seen.size <= REMEMBERED_MAX) break;
    seen.delete(old);
  }
  return items;
}

async function feedOf(http: Http, positionals: readonly string[], schema: string | null): Promise<Feed> {
  const [what = "events", identifier, ...more] = positionals;
  if (more.length > 0 || !Object.hasOwn(FEEDS, what) || (identifier !== undefined && what !== "events"))
    throw usage("tail: must be events, changes, dead-letters, or events NAMESPACE:VALUE");
  if (schema !== null && (what !== "events" || identifier !== undefined))
    throw usage("--schema: is for tail events without an identifier");
  const feed: Feed = FEEDS[what as keyof typeof FEEDS];
  if (schema !== null) return { ...feed, path: `${feed.path}?schema_id=${encodeURIComponent(schema)}` };
  if (identifier === undefined) return feed;
  return { ...feed, path: `/v1/profiles/${await profileOf(http, identifierIn(identifier))}/events` };
}

async function profileOf(http: Http, identifier: Identifier): Promise<string> {
  const { profiles } = await read<LookedUp>(http, "/v1/profiles/lookup", { identifiers: [identifier] });
  if (profiles[0] === undefined) throw new CliError(EXIT.refused, `${showIdentifier(identifier)} has no profile`);
  return profiles[0].profile_id;
}

const showEvent = ({ timestamp, received_at: at, event_id: id, schema_id: schema, status, payload }: Item): string =>
  `${String(timestamp ?? at)} ${String(id)} ${String(schema)} ${String(status)} ${plain(JSON.stringify(payload))}`;

const showChange = ({ at, change_id: id, outcome, source, event_id: event, identifiers }: Item): string => {
  const from = event === null ? String(source) : `event ${event as string}`;
  const who = (identifiers as readonly ChangedIdentifier[]).map(showChanged).join(" ");
  return `${String(at)} ${String(id)} ${String(outcome)} by ${from}: ${who}`;
};

const showDeadLetter = ({ at, dead_letter_id: id, event_id: event, reason }: Item): string =>
  `${String(at)} ${String(id)} ${plain(String(reason))} event ${event as string}`;

const FEEDS = {
  events: { path: "/v1/events", name: "events", id: "event_id", show: showEvent },
  changes: { path: "/v1/changes", name: "changes", id: "change_id", show: showChange },
  "dead-letters": { path: "/v1/dead-letters", name: "dead_letters", id: "dead_letter_id", show: showDeadLetter },
} as const satisfies Readonly<Record<string, Feed>>;
