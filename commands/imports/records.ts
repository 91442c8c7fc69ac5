import { publishInParts } from "../acceptance/publish-in-parts.js";
import { buildAll } from "../audiences/restore.js";
import { countFolded } from "../audiences/follow.js";
import { NO_AUDIENCES } from "../../core/audience/audience.js";
import { isFolding, type StoredEvent } from "../../core/event/event.js";
import { encodeMessage } from "../../core/event/message.js";
import type { RemovedPair, RestoredMember, UnlinkedMark } from "../../core/identity/api.js";
import type { Change, ForbiddenPair, ListedLink } from "../../core/identity/model.js";
import { deadLetterIdFor, type EventId, type WorkspaceId } from "../../core/ids.js";
import { emptyFacet } from "../../core/profile/fold.js";
import type { DeadLetter, Fold } from "../../core/ports/event-store.js";
import { createLate, keptOf, type Refused, type Written } from "../erasures/late.js";
import type { Services } from "../services.js";
import { requireOpenImport } from "./begin.js";
import { importCatalog, judgeCatalog, type CatalogLine } from "./catalog.js";
import { importErasures, type ImportedErasure } from "./erasures.js";
import { judgeImported, livingFacets, type RestoredFacet } from "./erased.js";

/** A record of an export, with the target's workspace where it has one. */
export type ImportRecord =
  | { readonly kind: "erasure"; readonly record: ImportedErasure }
  | ({ readonly kind: "catalog" } & CatalogLine)
  | { readonly kind: "profile"; readonly record: readonly RestoredMember[]; readonly facets: readonly RestoredFacet[] }
  | { readonly kind: "change"; readonly record: Change }
  | { readonly kind: "link"; readonly record: ListedLink }
  | { readonly kind: "removed_link"; readonly record: RemovedPair }
  | { readonly kind: "unlinked"; readonly record: UnlinkedMark }
  | { readonly kind: "forbidden_pair"; readonly record: ForbiddenPair }
  | { readonly kind: "event"; readonly record: StoredEvent };

type ImportServices = Pick<
  Services,
  | "catalog"
  | "identity"
  | "profiles"
  | "events"
  | "queue"
  | "audiences"
  | "tallies"
  | "movements"
  | "erasures"
  | "purge"
  | "validator"
  | "limits"
  | "now"
>;
type Of<Kind extends ImportRecord["kind"]> = Extract<ImportRecord, { kind: Kind }>;

/**
 * Writes them in their order; what stands already as it is given stays. So they may be given any number of times. Answers how many were
 * left out: see `Identity.restore`.
 */
export async function importRecords(
  services: ImportServices,
  workspace: WorkspaceId,
  all: readonly ImportRecord[],
): Promise<number> {
  await requireOpenImport(services, workspace);
  const leftOut = await writeRecords(services, workspace, await judgeRecords(services, workspace, all));
  // Somebody ended it meanwhile: profiles may have been judged before these records stood.
  if (!(await services.catalog.isImporting(workspace))) await buildAll(services, workspace);
  return leftOut;
}

/** The records as they may be written: throws what is wrong with one of them, and stores nothing. */
export async function judgeRecords(
  services: Pick<Services, "catalog" | "validator">,
  workspace: WorkspaceId,
  all: readonly ImportRecord[],
): Promise<readonly ImportRecord[]> {
  const judged: ImportRecord[] = [];
  for (const one of all)
    judged.push(one.kind === "catalog" ? { ...one, record: await judgeCatalog(services, workspace, one) } : one);
  return judged;
}

async function writeRecords(
  services: ImportServices,
  workspace: WorkspaceId,
  all: readonly ImportRecord[],
): Promise<number> {
  let leftOut = 0;
  for (let from = 0; from < all.length;) {
    const { kind } = all[from]!;
    const end = all.findIndex((one, n) => n > from && one.kind !== kind);
    const some = all.slice(from, end < 0 ? all.length : end);
    leftOut += await importSome(services, workspace, kind, some);
    from += some.length;
  }
  return leftOut;
}

async function importSome(
  services: ImportServices,
  workspace: WorkspaceId,
  kind: ImportRecord["kind"],
  some: readonly ImportRecord[],
): Promise<number> {
  const { identity } = services;
  switch (kind) {
    case "erasure":
      await importErasures(services, workspace, recordsOf(some as readonly Of<"erasure">[]));
      return 0;
    case "catalog":
      for (const one of some as readonly Of<"catalog">[]) await importCatalog(services, workspace, one);
      return 0;
    case "profile":
      await importProfiles(services, workspace, some as readonly Of<"profile">[]);
      return 0;
    case "event":
      await importEvents(services, workspace, recordsOf(some as readonly Of<"event">[]));
      return 0;
    case "change":
      return identity.restore(workspace, { kind: "changes", records: recordsOf(some as readonly Of<"change">[]) });
    case "link":
      return identity.restore(workspace, { kind: "links", records: recordsOf(some as readonly Of<"link">[]) });
    case "removed_link":
      return identity.restore(workspace, {
        kind: "removed_links",
        records: recordsOf(some as readonly Of<"removed_link">[]),
      });
    case "unlinked":
      return identity.restore(workspace, { kind, records: recordsOf(some as readonly Of<"unlinked">[]) });
    case "forbidden_pair":
      break;
  }
  return identity.restore(workspace, {
    kind: "forbidden_pairs",
    records: recordsOf(some as readonly Of<"forbidden_pair">[]),
  });
}

const recordsOf = <T>(some: readonly { readonly record: T }[]): readonly T[] => some.map(({ record }) => record);

async function importProfiles(
  { identity, profiles, erasures }: ImportServices,
  workspace: WorkspaceId,
  some: readonly Of<"profile">[],
): Promise<void> {
  await identity.restore(workspace, { kind: "members", records: recordsOf(some).flat() });
  const all = some.flatMap((one) => one.facets);
  if (all.length === 0) return;
  // Those that stand stay.
  const standing = await livingFacets({ erasures }, workspace, all);
  const saves = standing.flatMap((one) => [{ ...one, expectedRev: 0 }]);
  if (saves.length > 0) await profiles.save(workspace, saves);
  // An erasure writes first and looks then, too: one of the two sees the other. A try before may have ended between the two.
  const living = new Set(await livingFacets({ erasures }, workspace, all));
  const dead = all.filter((one) => !living.has(one)).map(({ uid }) => uid);
  if (dead.length > 0) await profiles.remove(workspace, dead);
}

async function importEvents(
  services: ImportServices,
  workspace: WorkspaceId,
  given: readonly StoredEvent[],
): Promise<void> {
  const { events, queue } = services;
  const late = createLate(services);
  const judged = await judgeImported(
    services,
    workspace,
    given.map((event): StoredEvent => ({ ...event, workspace })),
  );
  const own = judged.map(({ event }) => event);
  await events.insert(workspace, own);
  await late.dropRefused(
    workspace,
    judged.flatMap(({ event: { eventId }, refusedBy }): readonly Refused[] =>
      refusedBy === null ? [] : [{ eventId, refusedBy }],
    ),
  );
  const folded = await foldAgain(services, workspace, own);
  const letters = own.filter(({ status }) => status === "dead").map(letterOf);
  for (const letter of letters) await events.bury(letter);
  for (const reason of ["erased", "expired"] as const) {
    const ids = own.filter((event) => event.status === "dropped" && event.reason === reason).map(idOf);
    if (ids.length > 0) await events.drop(workspace, ids, reason);
  }
  const buried = letters.map((letter) => ({ kind: "letter", letter }) as const);
  await late.lookAfter(workspace, { folded, kept: [...buried, ...keptOf(own)] });
  // Their fold was still to come.
  const open = own.filter((event) => event.status === "stored" && isFolding(event));
  await publishInParts(
    queue,
    open.map((event) => encodeMessage(event)),
  );
}

/** Answers those that are in a facet now. */
async function foldAgain(
  services: ImportServices,
  workspace: WorkspaceId,
  own: readonly StoredEvent[],
): Promise<Written["folded"]> {
  const standing = own.filter((event) => event.status === "folded" && event.facet !== null);
  if (standing.length === 0) return [];
  const facets = await services.events.fold(workspace, standing.map(foldOf));
  const folded = standing.flatMap((event, n) => {
    const facet = facets[n] ?? null;
    return facet === null ? [] : [{ event, facet }];
  });
  await countFolded(services, workspace, folded, NO_AUDIENCES);
  return folded;
}

const idOf = ({ eventId }: StoredEvent): EventId => eventId;

const foldOf = ({ eventId, facet, profileIdThen }: StoredEvent): Fold => ({
  eventId,
  facet: facet!,
  profileIdThen: profileIdThen ?? facet!,
  // They stand with the event already, and what it says in the facet, which came with the profile.
  dropped: [],
  gain: emptyFacet,
});

/** As it stood when it died, as far as its event tells. */
function letterOf(event: StoredEvent): DeadLetter {
  const { workspace, eventId, reason, receivedAt } = event;
  return {
    deadLetterId: deadLetterIdFor(eventId, "import"),
    workspace,
    eventId,
    reason: reason ?? "internal",
    at: receivedAt,
    message: encodeMessage(event),
    killsEvent: true,
    times: 1,
    replayed: 0,
    replayedAt: null,
  };
}
