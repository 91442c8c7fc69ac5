import { AppError } from "../core/errors.js";
import type { EventId, Uid, WorkspaceId } from "../core/ids.js";
import type { Facet } from "../core/profile/facet.js";
import { foldEvents, NOTHING_FOLDED, type Folded, type Gains } from "../core/profile/fold-events.js";
import type { Fold } from "../core/ports/event-store.js";
import type { ProfileStore } from "../core/ports/profile-store.js";
import type { Tallied } from "../core/ports/tally-store.js";

/** The steps of a fold where the facets and the marks cannot be written at once. What a step reads, no crash of a server takes back. */
export interface FoldSteps {
  /** Gives each event its facet if it has none, and answers, in order, the facet that stands; null: there is no such event. */
  readonly pin: (workspace: WorkspaceId, folds: readonly Fold[]) => Promise<readonly (Uid | null)[]>;
  readonly read: ProfileStore["findSome"];
  /** Those of the events that are marked, or gone. */
  readonly marked: (workspace: WorkspaceId, eventIds: readonly EventId[]) => Promise<ReadonlySet<EventId>>;
  readonly save: ProfileStore["save"];
  /** What some of them count for is noted with it. */
  readonly mark: (
    workspace: WorkspaceId,
    eventIds: readonly EventId[],
    tallied?: ReadonlyMap<EventId, Tallied>,
  ) => Promise<void>;
}

/** Around each step, so that tests and the drill can come between them. */
export type AroundFold = <T>(step: keyof FoldSteps, work: () => Promise<T>) => Promise<T>;

export const watchedSteps = (steps: FoldSteps, around: AroundFold): FoldSteps => ({
  pin: (...given) => around("pin", () => steps.pin(...given)),
  read: (...given) => around("read", () => steps.read(...given)),
  marked: (...given) => around("marked", () => steps.marked(...given)),
  save: (...given) => around("save", () => steps.save(...given)),
  mark: (...given) => around("mark", () => steps.mark(...given)),
});

/** Of the text of facets, any of which may hold megabytes: so much is read, parsed and saved at once. Small ones of a whole batch have less. */
const BYTES_AT_ONCE = 4 * 1_048_576;
/** Each lost race means that another worker won one, so only very many workers get here. */
const RACES_MAX = 50;
/** Above it, events are only left there by workers that died before they could mark them. */
export const PENDING_MAX = 1_000;

/**
 * Folds events so that each counts once, whatever crashes: a facet names the events in it that may not be marked yet, an event is marked
 * after its facet is saved, and the marks are read after the facets. Answers, in order, the facet that each is in. Throws `unavailable` when
 * other workers keep changing a facet.
 */
export async function foldByPending(
  steps: FoldSteps,
  workspace: WorkspaceId,
  folds: readonly Fold[],
): Promise<readonly (Uid | null)[]> {
  const pinned = await steps.pin(workspace, folds);
  let open: Open = [...gainsOf(folds, pinned)];
  let most = open.length;
  let lostBefore = 0;
  for (let race = 0; open.length > 0;) {
    if (race === RACES_MAX) throw new AppError("unavailable", "A facet is being changed by too many workers.");
    // Without further ones: while large ones are read and saved beside it, a facet that others change would be lost each time.
    const { looked, lost } = await saveFirst(steps, workspace, open.slice(0, race === 0 ? most : lostBefore));
    // A store that cannot tell sizes before reads more than fits for nothing.
    if (race === 0) most = 2 * looked;
    race = lost.length === 0 ? 0 : race + 1;
    open = [...lost, ...open.slice(looked)];
    lostBefore = lost.length;
  }
  const known = folds.filter((_, n) => pinned[n] !== null).map(({ eventId }) => eventId);
  await steps.mark(workspace, [...new Set(known)], talliedOf(folds, pinned));
  return pinned;
}

/** What each event adds, under its facet; of an event that stands there twice, the first. */
function gainsOf(folds: readonly Fold[], pinned: readonly (Uid | null)[]): ReadonlyMap<Uid, Gains> {
  const gains = new Map<Uid, Map<EventId, Facet>>();
  for (const [n, { eventId, gain }] of folds.entries()) {
    const uid = pinned[n]!;
    if (uid === null) continue;
    const own = gains.get(uid);
    if (own === undefined) gains.set(uid, new Map([[eventId, gain]]));
    else if (!own.has(eventId)) own.set(eventId, gain);
  }
  return gains;
}

function talliedOf(folds: readonly Fold[], pinned: readonly (Uid | null)[]): ReadonlyMap<EventId, Tallied> {
  const tallied = new Map<EventId, Tallied>();
  for (const [n, { eventId, tallies = [] }] of folds.entries()) {
    const uid = pinned[n] ?? null;
    if (uid !== null && tallies.length > 0) tallied.set(eventId, { eventId, uid, tallies });
  }
  return tallied;
}

/** What is to be added to facets. */
type Open = readonly (readonly [Uid, Gains])[];

/** As many of them as are read at once: `looked`. `lost`: those of them that have to be tried again. */
async function saveFirst(
  steps: FoldSteps,
  workspace: WorkspaceId,
  all: Open,
): Promise<{ readonly looked: number; readonly lost: Open }> {
  const uids = all.map(([uid]) => uid);
  const { found, looked } = await steps.read(workspace, uids, BYTES_AT_ONCE);
  const open = looked === all.length ? all : all.slice(0, looked);
  const pending = [...found.values()].flatMap((stored) => stored.pending);
  const own = open.flatMap(([, gains]) => Array.from(gains.keys()));
  const marked = await steps.marked(workspace, [...new Set([...own, ...pending])]);
  const crowded = [...found.values()].filter((stored) => isCrowded(stored, marked));
  if (crowded.length > 0) {
    // They are in their facets, so that is what their marks say, whoever writes them.
    await steps.mark(
      workspace,
      crowded.flatMap((stored) => stored.pending.filter((eventId) => !marked.has(eventId))),
    );
    return { looked, lost: open };
  }
  const saves = open.flatMap(([uid, gains]) => {
    const before = found.get(uid);
    const folded = foldEvents(before ?? NOTHING_FOLDED, gains, (eventId) => marked.has(eventId));
    const isChanged = folded.facet.eventCount !== (before?.facet.eventCount ?? 0);
    // A repair that takes one of its own events out meanwhile must lose the race, or win it before the mark.
    const isNamed = before?.pending.some((eventId) => gains.has(eventId) && !marked.has(eventId)) === true;
    return isChanged || isNamed ? [{ uid, ...folded, expectedRev: before?.rev ?? 0 }] : [];
  });
  const saved = saves.length === 0 ? [] : await steps.save(workspace, saves);
  const lost = new Set(saves.filter((_, n) => saved[n] !== true).map(({ uid }) => uid));
  return { looked, lost: open.filter(([uid]) => lost.has(uid)) };
}

const isCrowded = ({ pending }: Folded, marked: ReadonlySet<EventId>): boolean =>
  pending.length > PENDING_MAX && pending.filter((eventId) => !marked.has(eventId)).length > PENDING_MAX;
