import type { Entry } from "../../core/audience/seat.js";
import type { AudienceId, ProfileId } from "../../core/ids.js";

/** Profiles whose random digits have this remainder: as many as fit into memory. */
export interface Part {
  readonly of: number;
  readonly remainder: number;
}
export const ALL: Part = { of: 1, remainder: 0 };

/** Whatever ids somebody imported: those that no division parts are held together. */
const PARTS_MAX = 65_536;
export const canBeHalved = ({ of }: Part): boolean => of < PARTS_MAX;
export const halvesOf = ({ of, remainder }: Part): readonly Part[] => [
  { of: of * 2, remainder },
  { of: of * 2, remainder: remainder + of },
];

const RANDOM_DIGITS = 8;
export const isIn = ({ of, remainder }: Part, profileId: ProfileId): boolean =>
  of === 1 || Number.parseInt(profileId.slice(-RANDOM_DIGITS), 16) % of === remainder;

/** Who should be told of as one who entered, or left. */
export interface Lack {
  readonly type: "entered" | "left";
  readonly audienceId: AudienceId;
  readonly profileIds: readonly ProfileId[];
}

/** Who is stored, of a part of the profiles, beside whom the feed tells of. */
export interface Told {
  store(profileId: ProfileId, audienceIds: readonly AudienceId[]): void;
  /** In the order of the feed. */
  tell(entry: Entry): void;
  /** Members that are held. */
  size(): number;
  /** What the feed would have to say to come to the members that are stored. */
  lacks(): readonly Lack[];
}

export function createTold(part: Part): Told {
  /** Whether the feed came to each. */
  const stored = new Map<AudienceId, Map<ProfileId, boolean>>();
  const others = new Map<AudienceId, Set<ProfileId>>();
  let size = 0;
  const tellOf = (audienceId: AudienceId, profileId: ProfileId, isMember: boolean): void => {
    const members = stored.get(audienceId);
    if (members?.has(profileId) === true) return void members.set(profileId, isMember);
    const strange = others.get(audienceId) ?? new Set();
    others.set(audienceId, strange);
    size -= strange.size;
    if (isMember) strange.add(profileId);
    else strange.delete(profileId);
    size += strange.size;
  };
  return {
    store: (profileId, audienceIds) => {
      if (!isIn(part, profileId)) return;
      for (const audienceId of audienceIds) {
        const members = stored.get(audienceId) ?? new Map<ProfileId, boolean>();
        stored.set(audienceId, members.set(profileId, false));
        size += 1;
      }
    },
    tell: (entry) => {
      if (entry.type === "audience_deleted") {
        const members = stored.get(entry.audienceId);
        for (const profileId of members?.keys() ?? []) members!.set(profileId, false);
        size -= others.get(entry.audienceId)?.size ?? 0;
        others.delete(entry.audienceId);
      } else if (entry.type !== "profile_erased" && isIn(part, entry.profileId))
        tellOf(entry.audienceId, entry.profileId, entry.type === "entered");
    },
    size: () => size,
    lacks: () =>
      [
        ...[...others].map(([audienceId, strange]): Lack => ({ type: "left", audienceId, profileIds: [...strange] })),
        ...[...stored].map(([audienceId, members]): Lack => {
          const untold = [...members.keys()].filter((profileId) => members.get(profileId) === false);
          return { type: "entered", audienceId, profileIds: untold };
        }),
      ].filter(({ profileIds }) => profileIds.length > 0),
  };
}

/** What both say. */
export const lackingTwice = (one: readonly Lack[], other: readonly Lack[]): readonly Lack[] =>
  one.flatMap((lack): readonly Lack[] => {
    const same = other.find(({ type, audienceId }) => type === lack.type && audienceId === lack.audienceId);
    const known = new Set(same?.profileIds);
    const profileIds = lack.profileIds.filter((profileId) => known.has(profileId));
    return profileIds.length === 0 ? [] : [{ ...lack, profileIds }];
  });

export function* entriesOf(lacks: readonly Lack[], at: number): Generator<Entry> {
  for (const { type, audienceId, profileIds } of lacks)
    for (const profileId of profileIds) yield { type, at, audienceId, profileId, cause: "changed", into: null };
}
