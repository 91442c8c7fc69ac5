import { Type, type TSchema } from "typebox";
import { exportCatalog } from "../../../commands/exports/catalog.js";
import { exportChanges } from "../../../commands/exports/changes.js";
import { exportEvents } from "../../../commands/exports/events.js";
import type { LinkPlace, LinkRecord, TAKING } from "../../../commands/exports/link-records.js";
import { exportLinks } from "../../../commands/exports/links.js";
import { exportProfiles, type ProfilePlace } from "../../../commands/exports/profiles.js";
import type { Services } from "../../../commands/services.js";
import type { ChangeId, EventId, ForbiddenPairId, ProfileId, Uid } from "../../../core/ids.js";
import { route, type Context, type Route } from "../../route.js";
import { AFTER } from "../../shapes/page.js";
import { CATALOG_LINES, showCatalogLine } from "./catalog-lines.js";
import {
  CHANGE_LINE,
  DAMAGED_EVENT_LINE,
  END,
  EVENT_LINE,
  LINK_LINES,
  PROFILE_LINE,
  showChangeLine,
  showEventLine,
  showLinkLine,
  showProfileLine,
} from "./lines.js";

type Position = readonly string[];

interface Export<Record> {
  readonly name: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly line: TSchema;
  readonly read: (context: Context, after: Position | null) => AsyncIterable<readonly Record[]>;
  readonly position: (one: Record) => Position;
  readonly show: (one: Record, position: string) => string | Buffer;
}

const ABOUT =
  "NDJSON: one object per line. The last line has `type: end`, and says whether the export is `complete`: " +
  "without this line, it is not. Skip empty lines: they come while there is nothing to write. To continue an export, send the `position` of the last line that you have as `?after=`. ";

const exportRoute = <Record>({ name, line, read, position, show, description, ...described }: Export<Record>): Route =>
  route({
    ...described,
    method: "get",
    path: `/v1/exports/${name}`,
    tag: "Export",
    description: ABOUT + description,
    example: { after: ["collect", "identify"] },
    access: { kind: "role", role: "admin" },
    query: AFTER,
    answersLines: true,
    responses: { 200: Type.Union([line, END]) },
    handle: async (context) => {
      const { after, cursorOf } = context.page;
      return { parts: portions(read(context, after), (one) => show(one, cursorOf(position(one)))) };
    },
  });

/** So much of a part is written in one turn of the event loop, about: what was read together may be far more. */
const PORTION_BYTES = 262_144;

async function* portions<Record>(
  parts: AsyncIterable<readonly Record[]>,
  lineOf: (one: Record) => string | Buffer,
): AsyncGenerator<readonly (string | Buffer)[], void> {
  for await (const part of parts) {
    let lines: (string | Buffer)[] = [];
    let bytes = 0;
    for (const one of part) {
      const line = lineOf(one);
      lines.push(line);
      bytes += Buffer.byteLength(line);
      if (bytes < PORTION_BYTES) continue;
      yield lines;
      [lines, bytes] = [[], 0];
    }
    // A part without any comes along: behind each, the export waits for its turn.
    if (lines.length > 0 || part.length === 0) yield lines;
  }
}

/** Data out, in lines. */
export const exportRoutes = (services: Services): readonly Route[] => [
  exportRoute({
    name: "catalog",
    operationId: "exportCatalog",
    summary: "Settings and definitions of the workspace",
    description:
      "Settings, namespaces, schemas, traits, datasets and audiences, without keys. It always starts from the beginning.",
    line: Type.Union(Object.values(CATALOG_LINES)),
    read: ({ workspace }) => exportCatalog(services, workspace),
    position: () => [],
    show: showCatalogLine,
  }),
  exportRoute({
    name: "profiles",
    operationId: "exportProfiles",
    summary: "All profiles, oldest first",
    description:
      "A profile that keeps its id during the export appears exactly once. One with more than 100 identifiers has several lines, " +
      "each with `partial: true`, some of the identifiers, and their traits.",
    line: PROFILE_LINE,
    read: ({ workspace }, after) => exportProfiles(services, workspace, profilePlaceOf(after)),
    position: ({ profileId, last }) => (last === null ? [profileId] : [profileId, last]),
    show: showProfileLine,
  }),
  exportRoute({
    name: "events",
    operationId: "exportEvents",
    summary: "All events, as they were received, oldest first",
    description:
      "`facet` is the `uid` of the identifier that has the data of the event. An event that is damaged, so that it cannot be read, has a " +
      "line of type `damaged_event` instead.",
    line: Type.Union([EVENT_LINE, DAMAGED_EVENT_LINE]),
    read: ({ workspace }, after) =>
      exportEvents(
        services,
        workspace,
        after === null ? null : { receivedAt: Number(after[0]), eventId: after[1] as EventId },
      ),
    position: ({ receivedAt, eventId }) => [String(receivedAt), eventId],
    show: showEventLine,
  }),
  exportRoute({
    name: "links",
    operationId: "exportLinks",
    summary: "Forbidden pairs; all links between identifiers, with their evidence; removed links",
    description:
      "`from` and `to` of an active link are `uid`s of identifiers. A link whose profile merges or splits during the export, or in an undo shortly before, may come twice. " +
      "`removed_link` was removed and not restored; what is `unlinked` ignores older assertions.",
    line: Type.Union(Object.values(LINK_LINES)),
    read: ({ workspace }, after) => exportLinks(services, workspace, linkPlaceOf(after), after?.includes(BEHIND_PAIRS)),
    position: positionOfLink,
    show: showLinkLine,
  }),
  exportRoute({
    name: "changes",
    operationId: "exportChanges",
    summary: "The records of all changes, newest first",
    description: "",
    line: CHANGE_LINE,
    read: ({ workspace }, after) => exportChanges(services, workspace, (after?.[0] ?? null) as ChangeId | null),
    position: ({ changeId }) => [changeId],
    show: showChangeLine,
  }),
];

const profilePlaceOf = (after: Position | null): ProfilePlace | null =>
  after === null ? null : { profileId: after[0] as ProfileId, uid: (after[1] ?? null) as Uid | null };

/** In a position among the links: the forbidden pairs were sent before. Builds that sent them behind pass over it. */
const BEHIND_PAIRS = "behind_pairs";

function positionOfLink({ place }: LinkRecord): Position {
  if (place.kind === "forbidden_pair") {
    const { forbiddenPairId, since } = place;
    // A build that sends the pairs behind the links reads it as a link of no profile, and begins with the first one.
    return since === null ? [forbiddenPairId] : ["", forbiddenPairId, "", since];
  }
  if (place.kind === "link") return [place.profileId, place.from, place.to, place.since, BEHIND_PAIRS];
  if (place.kind === "moved") return [BEHIND_PAIRS, place.since, place.before ?? ""];
  return [place.outcome, place.before ?? ""];
}

/** Each kind of place has another number of parts, or no profile. */
function linkPlaceOf(after: Position | null): LinkPlace | null {
  if (after === null) return null;
  const [first, second, third, fourth] = after;
  if (first === "" && fourth !== undefined) return pairPlaceOf(second, fourth as ChangeId);
  if (fourth !== undefined) {
    const ends = { from: second as Uid, to: third as Uid };
    return { kind: "link", profileId: first as ProfileId, ...ends, since: fourth as ChangeId };
  }
  if (third !== undefined) return { kind: "moved", since: second as ChangeId, before: changeIn(third) };
  if (second === undefined) return pairPlaceOf(first, null);
  return { kind: "taken", outcome: first as (typeof TAKING)[number], before: changeIn(second) };
}

const pairPlaceOf = (id: string | undefined, since: ChangeId | null): LinkPlace => ({
  kind: "forbidden_pair",
  forbiddenPairId: id as ForbiddenPairId,
  since,
});

const changeIn = (part: string | undefined): ChangeId | null => (part === "" ? null : (part as ChangeId));
