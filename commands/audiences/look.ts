import { setImmediate as nextTurn } from "node:timers/promises";
import { askedOf, lookAt, type Found } from "../../core/audience/look.js";
import type { Audience, AudienceSet } from "../../core/audience/audience.js";
import { isEmptySeat, stays, type Cause, type Judged } from "../../core/audience/seat.js";
import { countingAudiences } from "../../core/audience/tallies.js";
import { isNoted, noted } from "../../core/audience/times.js";
import { isUnavailable } from "../../core/errors.js";
import { newId, type AudienceId, type ClaimId, type ProfileId, type WorkspaceId } from "../../core/ids.js";
import type { WalkedProfile } from "../../core/identity/pages.js";
import { describeError } from "../../core/log.js";
import { allow, readProfile, readWhole, wholeMax, withoutFacets, type Judgeable } from "../read-profile.js";
import type { Services } from "../services.js";
import { compileAudiences, countedOf, judgeProfiles, type CompiledSet, type Judgement } from "./judged.js";
import { publishAll } from "./publish.js";

export type LookServices = Pick<
  Services,
  "audiences" | "seats" | "identity" | "profiles" | "events" | "tallies" | "limits" | "log"
>;

/** They are read together, mostly in a few calls: the embedded store answers at once, and more in one turn would hold up everybody. */
const AT_ONCE = 8;
/** After a call that took longer, they are read one by one: one of them may have very many events. */
const SLOW_MS = 200;
/** What cannot be read now is looked at again after so long. */
const UNREAD_MS = 300_000;

export interface LookBounds {
  /** Of `performance.now()`. */
  readonly until?: number;
  /** How long it took to judge one, or how long on average where several were read together. */
  readonly took?: (profileId: ProfileId, ms: number) => void;
}

/**
 * Judges the profiles by the audiences of the workspace, and puts what was found into their seats and into the feed. Answers those that
 * are done; of the others somebody else began a look meanwhile, or the time was over.
 */
export async function lookAtProfiles(
  services: LookServices,
  workspace: WorkspaceId,
  causes: ReadonlyMap<ProfileId, Cause>,
  now: number,
  bounds: LookBounds = {},
): Promise<ReadonlySet<ProfileId>> {
  if (causes.size === 0) return new Set();
  const { seats } = services;
  const claim = newId<ClaimId>();
  let isToPublish = false;
  const saved = await lookAt(
    {
      claim: (profileIds) => seats.claim(workspace, claim, profileIds),
      rules: async () => compileAudiences(await notedSet(services, workspace, now)),
      judge: (claimed, by: CompiledSet) => {
        const profileIds = claimed.map(({ profileId }) => profileId);
        const only = new Map<ProfileId, readonly AudienceId[]>();
        for (const seat of claimed) {
          const asked = askedOf(seat, causes.get(seat.profileId)!, now);
          if (asked !== null) only.set(seat.profileId, asked);
        }
        return judgeAll(services, workspace, { profileIds, only, by, now, ...bounds });
      },
      save: (saves) => {
        isToPublish = saves.some(({ seat, entries }) => entries.length > 0 || isEmptySeat(seat));
        return seats.save(workspace, claim, saves);
      },
    },
    causes,
    now,
  );
  // What a look left behind that died here comes with the next one, or with the round of a keeper.
  if (isToPublish) await publishAll(services, workspace);
  return saved;
}

/** Read after the claim, and noted before the save: whoever has all judged anew meanwhile sees one of the two. */
async function notedSet({ audiences }: LookServices, workspace: WorkspaceId, now: number): Promise<AudienceSet> {
  const set = await audiences.audiences(workspace);
  return isNoted(set, now) ? set : audiences.changeAudiences(workspace, (current) => noted(current, now));
}

type Parts = ReadonlyMap<ProfileId, readonly AudienceId[]>;

interface Asked {
  readonly profileIds: readonly ProfileId[];
  /** The audiences that are to be judged of these profiles; those that are not here are judged by all. */
  readonly only?: Parts;
  readonly by: CompiledSet;
  readonly now: number;
}

/** In order, as many as there is time for, at least some. Writes nothing. */
export async function judgeAll(
  services: LookServices,
  workspace: WorkspaceId,
  { profileIds, only = new Map(), by, now, until = Infinity, took }: Asked & LookBounds,
): Promise<readonly Found[]> {
  const found: Found[] = [];
  let atOnce = AT_ONCE;
  while (found.length < profileIds.length) {
    const begunAt = performance.now();
    if (found.length > 0 && begunAt >= until) break;
    if (found.length > 0) await nextTurn();
    const some = profileIds.slice(found.length, found.length + atOnce);
    found.push(...(await judgeSome(services, workspace, { profileIds: some, only, by, now })));
    const tookMs = performance.now() - begunAt;
    for (const profileId of some) took?.(profileId, tookMs / some.length);
    atOnce = tookMs > SLOW_MS ? 1 : AT_ONCE;
  }
  return found;
}

async function judgeSome(
  services: LookServices,
  workspace: WorkspaceId,
  { profileIds, only, by, now }: Asked & { readonly only: Parts },
): Promise<readonly Found[]> {
  const met = await services.identity.resolveAll(workspace, profileIds, wholeMax(services));
  const found = new Map<ProfileId, Found>();
  for (const [i, profileId] of profileIds.entries()) {
    const into = met[i]?.profileId ?? null;
    if (into !== profileId) found.set(profileId, { kind: "gone", into });
    // Of an audience that is no more everybody leaves, whatever can be read of them.
    else if (by.all.length === 0) found.set(profileId, { kind: "live", judged: [] });
  }
  const open = met.flatMap((one, i) => (found.has(profileIds[i]!) ? [] : (one ?? [])));
  const judge = (some: readonly WalkedProfile[]) =>
    judgeOpen(services, workspace, some, { by, part: partOf(by, some, only), now });
  for (const one of await judge(open.filter(isWhole))) found.set(...one);
  for (const one of open.filter((other) => !isWhole(other))) found.set(...(await judge([one]))[0]!);
  return profileIds.map((profileId) => found.get(profileId)!);
}

const isWhole = ({ members }: WalkedProfile): boolean => members !== null;

/** By those by which one of them is to be judged: mostly the same window ends for all. */
function partOf(by: CompiledSet, some: readonly WalkedProfile[], only: Parts): CompiledSet {
  // The others would have to be judged by the events themselves, for nothing: their own build begins when all is counted.
  const counted = countedOf(by);
  const asked = new Set<AudienceId>();
  for (const { profileId } of some) {
    const own = only.get(profileId);
    if (own === undefined) return counted;
    for (const audienceId of own) asked.add(audienceId);
  }
  return { ...by, all: counted.all.filter(({ audience }) => asked.has(audience.audienceId)) };
}

type FoundOf = readonly [ProfileId, Found];

interface JudgedBy {
  readonly by: CompiledSet;
  /** Those of them that are judged now. */
  readonly part: CompiledSet;
  readonly now: number;
}

/** Small ones together, or one. What cannot be read of one is no matter of the others. */
async function judgeOpen(
  services: LookServices,
  workspace: WorkspaceId,
  some: readonly WalkedProfile[],
  { by, part, now }: JudgedBy,
): Promise<readonly FoundOf[]> {
  const [first, ...more] = some;
  if (first === undefined) return [];
  try {
    const isLarge = first.members === null;
    const isOfEvents = part.all.every((one) => one.isOfEvents);
    const small = (): AsyncIterable<readonly Judgeable[]> | readonly (readonly Judgeable[])[] =>
      isOfEvents ? [some.map(withoutFacets)] : readWhole(services, workspace, some);
    const read = isLarge ? [[await readLarge(services, workspace, first)]] : small();
    const judgements: Judgement[] = [];
    for await (const profiles of read)
      judgements.push(...(await judgeProfiles(services, workspace, part, profiles, now)));
    const counting = countingAudiences(by.set);
    return some.map(({ profileId }, n): FoundOf => {
      const verdicts = judgements[n]!.verdicts.values();
      const judged = by.all.map((one): Judged => {
        const { audienceId } = one.audience;
        if (counting.has(audienceId)) return { audienceId, is: null, until: Infinity, cause: null };
        if (!part.all.includes(one)) return stays(audienceId);
        const { is, until } = verdicts.next().value!;
        return { audienceId, is: is === true, until, cause: causeOf(one.audience, profileId) };
      });
      return [profileId, { kind: "live", judged }];
    });
  } catch (error) {
    if (isUnavailable(error)) throw error;
    if (more.length > 0) {
      const found: FoundOf[] = [];
      for (const one of some) found.push(...(await judgeOpen(services, workspace, [one], { by, part, now })));
      return found;
    }
    const { profileId } = first;
    services.log.error(
      { workspace, profileId, ...describeError(error) },
      "a profile cannot be judged by its audiences",
    );
    const until = now + UNREAD_MS;
    const judged = by.all.map((one) => {
      const its = stays(one.audience.audienceId);
      return part.all.includes(one) ? { ...its, until } : its;
    });
    return [[profileId, { kind: "unread", judged }]];
  }
}

/** The same part of a large profile as a read of it shows. */
async function readLarge(
  services: LookServices,
  workspace: WorkspaceId,
  { profileId, size }: WalkedProfile,
): Promise<Judgeable> {
  const allowance = await allow(services, takeNothing, [size]);
  return readProfile(services, workspace, profileId, allowance);
}

/** Whom a build has not come to yet, enters or leaves because of it, whatever led here. */
const causeOf = ({ build }: Audience, profileId: ProfileId): Cause | null =>
  build !== null && (build.after === null || profileId > build.after) ? build.cause : null;

/** Looks are few at a time, and nobody waits for their answer. */
const takeNothing = async (): Promise<boolean> => false;
