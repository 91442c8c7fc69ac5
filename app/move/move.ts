import { setTimeout as sleep } from "node:timers/promises";
import { ConfigError, type Config } from "../../core/config.js";
import { newId } from "../../core/ids.js";
import type { Log } from "../../core/log.js";
import type { MoveMark, Place } from "../../core/ports/copying.js";
import {
  compareQueue,
  compareStores,
  copyErasureLog,
  copyQueue,
  copyStores,
  requireBeginning,
  type Progress,
  type Tally,
} from "./copy.js";
import { patiently } from "./patience.js";
import { isMarked, requireRoom } from "./marks.js";
import {
  disownQueue,
  markAll,
  nameOf,
  openSide,
  requireApart,
  requireFilled,
  requireStanding,
  withCatalogPlace,
  type Side,
  type TimeThere,
} from "./side.js";

export interface MoveOptions {
  readonly from: Config;
  readonly to: Config;
  readonly log: Log;
  readonly progress: Progress;
}

/** A process keeps the installation's time each second, also where that stands still: in this while it shows. */
const LOOK_MS = 3_500;

/**
 * Copies an installation that no process uses, compares both sides, then marks this one as moved. Run again after a break it goes on
 * with the same stores. Throws before it wrote anything when it may not begin.
 */
export async function move({ from, to, log, progress }: MoveOptions): Promise<readonly Tally[]> {
  requireApart(from, to);
  requireStanding(from);
  const source = await openSide(from, log);
  try {
    const standing = await standingMove(source);
    if (standing === null) await requireFilled(source);
    const moveId = standing ?? newId<string>();
    const leaving = await leave(source, moveId, standing === null, nameOf(to));
    const arriving: MoveMark = { moveId, state: "arriving", other: nameOf(from) };
    await prepare(source, { to, log }, arriving, leaving, standing === null);
    const target = await openTarget(source, { to, log }, standing === null);
    try {
      const isCopied = leaving.state === "left";
      if (!isCopied) await requireTarget(source, target, arriving, standing === null);
      const tallies = await (isCopied
        ? compareAll(source, target, moveId, progress)
        : copyAll(source, target, progress));
      // In this order: at no moment may both sides start.
      await markLeft(source, leaving);
      await markAll(target.backends.places, null);
      return tallies;
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

/** Takes the marks of an unfinished move off the side that it leaves; the catalog's goes last, so it says whether one is under way. */
export async function cancel(from: Config, log: Log): Promise<void> {
  requireStanding(from);
  const source = await openSide(from, log);
  try {
    const [place, ...others] = source.backends.places;
    const mark = await place.mark();
    if (mark?.state !== "leaving") throw notUnderWay(place, mark);
    await markAll(others, null);
    if (await patiently(() => place.replaceMark(mark, null))) return;
    // It was over first: what it marked stays marked.
    const last = await place.mark();
    await markAll(others, last);
    throw notUnderWay(place, last);
  } finally {
    await source.close();
  }
}

const notUnderWay = ({ name }: Place, mark: MoveMark | null): ConfigError =>
  new ConfigError(
    mark?.state === "left"
      ? `${name} was moved to ${mark.other}: to bring it back, move it from there into an empty store`
      : `${name}: no move from here is under way`,
  );

/** Throws where the move was called off meanwhile: processes may have gone on there, with what is not in the copy. */
async function markLeft({ backends: { places } }: Side, leaving: MoveMark): Promise<void> {
  const [place, ...others] = places;
  const left: MoveMark = { ...leaving, state: "left" };
  if (!(await patiently(() => place.replaceMark(leaving, left))))
    throw new ConfigError(`${place.name}: the move was called off while it ran, so nothing was moved from here`);
  await markAll(others, left);
}

/** The move that began here and is not over; null if there is none. */
async function standingMove({ backends: { places } }: Side): Promise<string | null> {
  const mark = await places[0].mark();
  if (mark === null) return null;
  if (mark.state === "arriving")
    throw new ConfigError(
      `${places[0].name} is being filled by a move from ${mark.other}: run that one again to its end first`,
    );
  return mark.moveId;
}

/** Marks first and looks then; a process that starts shows itself first and looks then. One of the two sees the other. */
async function leave(source: Side, moveId: string, isFirst: boolean, other: string): Promise<MoveMark> {
  const { places, catalog } = source.backends;
  const mark: MoveMark = { moveId, state: "leaving", other };
  const standing = await places[0].mark();
  if (standing?.state === "left") return standing;
  await markAll(places, mark);
  try {
    await requireUnused(places[0], source.config.MONGODB_URL === "" ? null : () => catalog.timeKept());
  } catch (error) {
    if (isFirst) await markAll(places, null);
    throw error;
  }
  return mark;
}

/** Throws where a process of the service keeps the time. */
async function requireUnused({ name }: Place, time: TimeThere): Promise<void> {
  if (time === null) return;
  const before = await time();
  await sleep(LOOK_MS);
  const after = await time();
  if (after.beats > before.beats)
    throw new ConfigError(`${name}: a process of the service uses it: stop all of them first`);
}

/** Fills the catalog's place with mark and secret, if it is empty or of this move. */
async function prepare(
  source: Side,
  { to, log }: Pick<MoveOptions, "to" | "log">,
  arriving: MoveMark,
  left: MoveMark,
  isFirst: boolean,
): Promise<void> {
  let isMarkedThere = false;
  try {
    await withCatalogPlace(to, log, async (place, time) => {
      // A move that was over but for its last marks is ended; it is not begun anew. The catalog's mark is the last one.
      if (left.state === "left" && (await place.mark())?.moveId !== left.moveId)
        throw new ConfigError(`it was moved to ${left.other} already: to move it on, move it from there`);
      await requireRoom(place, arriving.moveId);
      isMarkedThere = true;
      try {
        await patiently(() => place.setMark(arriving));
        const former = await patiently(() => place.secret());
        // A service was started there once. One that runs has read that secret, and would go on with it.
        if (former !== null) await requireUnused(place, time);
        const secret = await source.backends.catalog.secret();
        if (former !== null && !former.equals(secret)) await disownQueue(to, log, former);
        await patiently(() => place.adopt(secret));
      } catch (error) {
        if (isFirst) await markAll([place], null);
        isMarkedThere = !isFirst;
        throw error;
      }
    });
  } catch (error) {
    // A mark that stays there is of this move alone, so only while it is marked here can it be run again.
    if (isFirst && !isMarkedThere) await markAll(source.backends.places, null);
    throw error;
  }
}

/** Where a server or a setting of it is wrong, nothing was copied yet. */
async function openTarget(source: Side, { to, log }: Pick<MoveOptions, "to" | "log">, isFirst: boolean): Promise<Side> {
  try {
    return await openSide(to, log);
  } catch (error) {
    if (isFirst) {
      await withCatalogPlace(to, log, (place) => markAll([place], null));
      await markAll(source.backends.places, null);
    }
    throw error;
  }
}

/** The places beside the catalog's, the log of erasures, and the queue. */
async function requireTarget(source: Side, target: Side, arriving: MoveMark, isFirst: boolean): Promise<void> {
  const { places } = target.backends;
  const marked: Place[] = [places[0]];
  try {
    for (const place of places.slice(1)) {
      await requireRoom(place, arriving.moveId);
      await place.setMark(arriving);
      marked.push(place);
    }
    await patiently(() => requireBeginning(source, target));
    const waiting = isFirst ? await target.queue.count() : 0;
    if (waiting > 0)
      throw new ConfigError(`the queue of ${nameOf(target.config)} is not empty: ${waiting} messages wait there`);
  } catch (error) {
    if (isFirst) {
      await markAll(marked, null);
      await markAll(source.backends.places, null);
    }
    throw error;
  }
}

async function copyAll(source: Side, target: Side, progress: Progress): Promise<readonly Tally[]> {
  const stores = await copyStores(source, target, progress);
  const tallies = [...stores, await copyQueue(source, target, progress)];
  requireEqual(tallies, "the copy is not equal, and nothing was marked as moved");
  await patiently(() => copyErasureLog(source, target));
  const { ms, sureMs, waitedMs } = await patiently(() => source.backends.catalog.timeKept());
  await patiently(() => target.backends.catalog.advanceTime(ms, Infinity, { sureMs, waitedMs }));
  return tallies;
}

/** Behind a break between the last marks. Places that are unmarked already are full, so they are compared and no more written to. */
async function compareAll(source: Side, target: Side, moveId: string, progress: Progress): Promise<readonly Tally[]> {
  for (const place of target.backends.places) await isMarked(place, moveId);
  const stores = await compareStores(source, target, progress);
  const tallies = [...stores, await patiently(() => compareQueue(source, target, progress))];
  requireEqual(
    tallies,
    `${nameOf(target.config)} is not equal to what was moved; are these the settings of that move?`,
  );
  return tallies;
}

function requireEqual(tallies: readonly Tally[], otherwise: string): void {
  const wrong = tallies.filter(({ from, to }) => from.rows !== to.rows || from.checksum !== to.checksum);
  if (wrong.length === 0) return;
  const each = wrong.map(({ kind, from, to }) => `${kind} (${from.rows} and ${to.rows})`);
  throw new Error(`${otherwise}: ${each.join(", ")}`);
}
