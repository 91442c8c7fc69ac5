import type { ProfileId, Uid } from "../../../core/ids.js";
import { pairName, pairsOf, type Name, type Pair } from "../trust/model.js";

/**
 * `ok`: answered. `fail`: answered that nothing was changed. `info`: no answer came, so it may have happened at any time since it began,
 * or not at all.
 */
export type Ending = "ok" | "fail" | "info";

/** What a client did and was told. Times are of one clock, whatever process it ran in. */
export interface Entry {
  readonly kind: "assert" | "look" | "unlink";
  /** Of an answered assertion those that were kept; to unlink: one identifier from all others, or a pair. */
  readonly names: readonly Name[];
  /** The pair may not come together any more. */
  readonly forbidden: boolean;
  readonly began: number;
  /** Infinity without an answer. */
  readonly ended: number;
  readonly ending: Ending;
  /** The profiles that were answered, each for a name; null: never seen. */
  readonly answers: readonly Answer[];
}

export interface Answer {
  readonly name: Name;
  readonly profile: { readonly id: ProfileId; readonly size: number } | null;
}

export interface Profile {
  readonly id: ProfileId;
  readonly members: readonly { readonly uid: Uid; readonly name: Name }[];
}

export interface History {
  readonly entries: readonly Entry[];
  /** All profiles, read when all had ended. */
  readonly profiles: readonly Profile[];
  /** What each answered id named then. */
  readonly resolved: ReadonlyMap<ProfileId, ProfileId | null>;
}

/** A moment, or the time of an operation: when it was decided within it nobody knows. */
interface Span {
  readonly began: number;
  readonly ended: number;
}
const AT_THE_END: Span = { began: Infinity, ended: Infinity };

/** What no order of the operations explains, in words; nothing for a history that may have happened. */
export function findingsOf(history: History): readonly string[] {
  const links = createLinks(history.entries);
  const locations = seatsOf(history.profiles);
  return [
    ...locations.findings,
    ...history.entries.flatMap((entry) => checkAnswers(history, links, locations, entry)),
    ...checkEnd(history, links, locations),
  ];
}

interface Locations {
  readonly uidOf: ReadonlyMap<Name, Uid>;
  readonly ownerOf: ReadonlyMap<Uid, Name>;
  readonly profileOf: ReadonlyMap<Name, Profile>;
  readonly findings: readonly string[];
}

function seatsOf(profiles: readonly Profile[]): Locations {
  const findings: string[] = [];
  const [uidOf, ownerOf, profileOf] = [new Map<Name, Uid>(), new Map<Uid, Name>(), new Map<Name, Profile>()];
  for (const profile of profiles) {
    const smallest = profile.members.map(({ uid }) => uid).toSorted()[0];
    if (smallest !== profile.id) findings.push(`profile ${profile.id} has the smallest uid ${smallest}`);
    for (const { uid, name } of profile.members) {
      if (profileOf.has(name)) findings.push(`${name} is in two profiles`);
      uidOf.set(name, uid);
      ownerOf.set(uid, name);
      profileOf.set(name, profile);
    }
  }
  return { uidOf, ownerOf, profileOf, findings };
}

interface Links {
  /** All that surely hang together with the names throughout the span, and all that may within it. */
  readonly surely: (names: readonly Name[], span: Span) => ReadonlySet<Name>;
  readonly maybe: (names: readonly Name[], span: Span) => ReadonlySet<Name>;
  readonly entries: readonly Entry[];
}

function createLinks(entries: readonly Entry[]): Links {
  const asserted = new Map<string, Entry[]>();
  const neighbours = new Map<Name, Set<Name>>();
  for (const entry of entries.filter(({ kind, ending }) => kind === "assert" && ending !== "fail"))
    for (const pair of pairsOf(entry.names)) {
      push(asserted, pairName(pair), entry);
      for (const [one, other] of [pair, pair.toReversed()] as readonly Pair[])
        neighbours.set(one, (neighbours.get(one) ?? new Set()).add(other));
    }
  const unlinks = entries.filter(({ kind, ending }) => kind === "unlink" && ending !== "fail");
  const unlinksOf = (pair: Pair): readonly Entry[] =>
    unlinks.length === 0 ? unlinks : unlinks.filter(({ names }) => names.every((name) => pair.includes(name)));

  const isSure = (pair: Pair, { began, ended }: Span): boolean =>
    (asserted.get(pairName(pair)) ?? []).some(
      (link) =>
        link.ending === "ok" &&
        link.ended <= began &&
        !unlinksOf(pair).some((unlink) => unlink.ended > link.began && unlink.began < ended),
    );
  const isPossible = (pair: Pair, { began, ended }: Span): boolean =>
    (asserted.get(pairName(pair)) ?? []).some(
      (link) =>
        link.began < ended &&
        !unlinksOf(pair).some(
          (unlink) => unlink.ending === "ok" && unlink.began >= link.ended && unlink.ended <= began,
        ),
    );
  const spread = (names: readonly Name[], isLink: (pair: Pair) => boolean): ReadonlySet<Name> => {
    const found = new Set(names);
    for (const name of found)
      for (const other of neighbours.get(name) ?? []) if (!found.has(other) && isLink([name, other])) found.add(other);
    return found;
  };
  return {
    surely: (names, span) => spread(names, (pair) => isSure(pair, span)),
    maybe: (names, span) => spread(names, (pair) => isPossible(pair, span)),
    entries,
  };
}

function push(lists: Map<string, Entry[]>, key: string, entry: Entry): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [entry]);
  else list.push(entry);
}

/** Each answer lies between what had ended before the operation began and what had begun before it ended. */
function checkAnswers(history: History, links: Links, locations: Locations, entry: Entry): readonly string[] {
  return entry.answers.flatMap(({ name, profile }) => {
    // An assertion links what it names, whatever else goes on.
    const own = entry.kind === "assert" ? entry.names : [name];
    const least = links.surely(own, entry);
    const most = links.maybe(own, entry);
    const told = `${entry.kind} ${entry.names.join(" ")} was told`;
    if (profile === null)
      return isAcknowledged(links, name, entry) ? [`${told} that ${name} was never seen, after it was`] : [];
    const findings = checkResolved(history, locations, name, profile.id).map((finding) => `${told} ${finding}`);
    const owner = locations.ownerOf.get(profile.id);
    if (owner === undefined) return [...findings, `${told} ${profile.id}, which is nobody's id`];
    if (!most.has(owner)) findings.push(`${told} the id of ${owner}, which nothing had joined to ${name} yet`);
    const oldest = [...least].toSorted((a, b) => ageOf(locations, a, b))[0]!;
    if ((locations.uidOf.get(oldest) ?? profile.id) < profile.id)
      findings.push(`${told} the id of ${owner}, although ${oldest} was surely joined and is older`);
    if (profile.size < least.size || profile.size > most.size)
      findings.push(`${told} a size of ${profile.size}, not between ${least.size} and ${most.size}`);
    return findings;
  });
}

const ageOf = ({ uidOf }: Locations, a: Name, b: Name): number =>
  (uidOf.get(a) ?? "~") < (uidOf.get(b) ?? "~") ? -1 : 1;

const isAcknowledged = ({ entries }: Links, name: Name, { began }: Span): boolean =>
  entries.some(
    ({ kind, ending, names, ended }) => kind === "assert" && ending === "ok" && ended <= began && names.includes(name),
  );

/** An id is good for ever, and without an unlink it goes on naming the person that it was told for. */
function checkResolved({ entries, resolved }: History, locations: Locations, name: Name, id: ProfileId): string[] {
  const owner = locations.ownerOf.get(id);
  const now = resolved.get(id) ?? null;
  if (now === null) return [`${id}, which names nobody in the end`];
  if (owner !== undefined && locations.profileOf.get(owner)?.id !== now)
    return [`${id}, which names ${now} in the end and not the profile of ${owner}`];
  const isTorn = entries.some(({ kind }) => kind === "unlink");
  return isTorn || locations.profileOf.get(name)?.id === now
    ? []
    : [`${id}, which names somebody else than ${name} in the end`];
}

/** The profiles of the end hold all that surely hangs together, and nobody whom nothing joins. */
function checkEnd({ entries }: History, links: Links, { profileOf }: Locations): readonly string[] {
  const findings: string[] = [];
  const acknowledged = entries.filter(({ kind, ending }) => kind === "assert" && ending === "ok");
  for (const name of new Set(acknowledged.flatMap(({ names }) => names))) {
    const profile = profileOf.get(name);
    if (profile === undefined) {
      findings.push(`${name} is in no profile`);
      continue;
    }
    const members = new Set(profile.members.map((member) => member.name));
    for (const other of links.surely([name], AT_THE_END))
      if (!members.has(other)) findings.push(`${name} and ${other} are apart in the end`);
    const most = links.maybe([name], AT_THE_END);
    for (const other of members) if (!most.has(other)) findings.push(`nothing joins ${name} and ${other}`);
  }
  for (const { names: pair } of entries.filter(({ forbidden, ending }) => forbidden && ending === "ok"))
    if (profileOf.get(pair[0]!) === profileOf.get(pair[1]!)) findings.push(`${pair.join(" and ")} are forbidden`);
  return findings;
}
