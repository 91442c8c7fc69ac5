import { isDeepStrictEqual } from "node:util";
import { AppError, isUnavailable } from "../../../core/errors.js";
import type { Identifier } from "../../../core/event/event.js";
import type { Identity } from "../../../core/identity/api.js";
import type { KeyId, ProfileId, WorkspaceId } from "../../../core/ids.js";
import type { ProfileRef, Source, AssertResult } from "../../../core/identity/model.js";
import type { Answer, Entry, History, Profile } from "./history-checker.js";
import { createRandom, shuffled, type Random } from "../random/random.js";
import { nameOf, type Name } from "../trust/model.js";

export interface ClientsPlan {
  readonly workspace: WorkspaceId;
  readonly seed: number;
  readonly clients: number;
  /** Of all clients together. */
  readonly operations: number;
  readonly unlinks: boolean;
  /** Any error is taken for no answer. */
  readonly isBroken?: boolean;
}

const PERSONS = 60;
const NAMESPACES = ["user_id", "email", "device_id", "cookie_id"] as const;
const VALUES = 2;
/** So often is the end read again while it changes. */
const READ_TRIES = 10;
/** One operation in so many names somebody else too, so that persons merge. */
const MIXED = 30;

const identifiersOf = (person: number): readonly Identifier[] =>
  NAMESPACES.flatMap((namespace) =>
    Array.from({ length: VALUES }, (_, n) => ({ namespace, value: `p${person}-${n}` })),
  );
const EVERYBODY: readonly Identifier[] = Array.from({ length: PERSONS }, (_, n) => identifiersOf(n)).flat();

function drawSome(random: Random, count: number): readonly Identifier[] {
  const [person, other] = [random.below(PERSONS), random.below(PERSONS)];
  const drawn = shuffled(identifiersOf(person), random).slice(0, count);
  return random.below(MIXED) === 0 ? [random.pick(identifiersOf(other)), ...drawn.slice(1)].filter(isFirst) : drawn;
}
const isFirst = (one: Identifier, at: number, all: readonly Identifier[]): boolean =>
  all.findIndex((other) => nameOf(other) === nameOf(one)) === at;

/** Milliseconds of a clock that all processes of the machine share. */
const now = (): number => Number(process.hrtime.bigint()) / 1e6;
const evidenceOf = (source: Source) => ({ source, keyId: "key0000001" as KeyId, at: Date.now() });

/** Lets clients work at once, each one operation after the other, and answers all that they did and were told. */
export async function runClients(identity: Identity, plan: ClientsPlan): Promise<readonly Entry[]> {
  const random = createRandom(plan.seed);
  const entries: Entry[] = [];
  let left = plan.operations;
  const client = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      entries.push(await recorded(operationOf(identity, plan, random), plan));
    }
  };
  await Promise.all(Array.from({ length: plan.clients }, client));
  return entries;
}

interface Operation {
  readonly kind: Entry["kind"];
  readonly named: readonly Identifier[];
  readonly work: () => Promise<Told>;
}
type Told = Partial<Pick<Entry, "names" | "ending" | "answers" | "forbidden">>;

function operationOf(identity: Identity, { workspace, unlinks }: ClientsPlan, random: Random): Operation {
  const chance = random.below(100);
  if (unlinks && chance < 10) return unlink(identity, workspace, random);
  if (chance < 40) return look(identity, workspace, drawSome(random, 2));
  if (chance < 55) return claim(identity, workspace, "alias", drawSome(random, 2));
  return claim(identity, workspace, "identify", drawSome(random, 1 + random.below(3)));
}

/** No answer in time may mean anything; any other error is a fault of the program. */
async function recorded({ kind, named, work }: Operation, { isBroken = false }: ClientsPlan): Promise<Entry> {
  const base = { kind, names: named.map(nameOf), forbidden: false, answers: [], began: now() };
  try {
    const told = await work();
    return { ...base, ending: "ok", ended: now(), ...told };
  } catch (error) {
    if (!isBroken && !isUnavailable(error)) throw error;
    return { ...base, ending: "info", ended: Infinity };
  }
}

const claim = (
  identity: Identity,
  workspace: WorkspaceId,
  source: "identify" | "alias",
  named: readonly Identifier[],
): Operation => ({
  kind: "assert",
  named,
  work: async () => {
    // Two drawn alike are one, and nobody is his own alias.
    const evidence = evidenceOf(named.length === 1 ? "identify" : source);
    return toldBy(named, await identity.assert(workspace, { identifiers: named, evidence }));
  },
});

function toldBy(named: readonly Identifier[], { outcome, dropped, after }: AssertResult): Told {
  if (outcome === "refused") return { ending: "fail" };
  const gone = new Set(dropped.map(({ identifier }) => nameOf(identifier)));
  const names = named.map(nameOf).filter((name) => !gone.has(name));
  return { names, answers: [answerOf(names[0]!, after[0]!)] };
}

const answerOf = (name: Name, ref: ProfileRef | null): Answer => ({
  name,
  profile: ref && { id: ref.profileId, size: ref.size },
});

const look = (identity: Identity, workspace: WorkspaceId, named: readonly Identifier[]): Operation => ({
  kind: "look",
  named,
  work: async () => {
    const refs = await identity.lookup(workspace, named);
    return { answers: named.map((one, i) => answerOf(nameOf(one), refs[i]!)) };
  },
});

/** Of a pair mostly; sometimes for good. */
function unlink(identity: Identity, workspace: WorkspaceId, random: Random): Operation {
  const named = drawSome(random, random.below(4) === 0 ? 1 : 2);
  const [from, to] = named;
  const forbidden = to !== undefined && random.below(3) === 0;
  const asked = to === undefined ? { identifier: from! } : { from: from!, to, forbid: forbidden };
  const work = async (): Promise<Told> => {
    try {
      await identity.unlink(workspace, asked, evidenceOf("unlink"));
      return { forbidden };
    } catch (error) {
      // Who was never seen has no link, and what others hold together is left as it was.
      if (!(error instanceof AppError) || isUnavailable(error)) throw error;
      return { ending: "fail" };
    }
  };
  return { kind: "unlink", named, work };
}

/** What stands once all have ended. What got no answer may still be written meanwhile, so it is read until two reads agree. */
export async function readHistory(
  identity: Identity,
  workspace: WorkspaceId,
  entries: readonly Entry[],
): Promise<History> {
  let last = await readAll(identity, workspace, entries);
  for (let tries = 0; tries < READ_TRIES; tries++) {
    const next = await readAll(identity, workspace, entries);
    if (isDeepStrictEqual(last, next)) return next;
    const unanswered = entries.filter(({ ending }) => ending === "info").length;
    console.log(`    a change was written after all had ended; ${unanswered} had no answer`);
    last = next;
  }
  return last;
}

async function readAll(identity: Identity, workspace: WorkspaceId, entries: readonly Entry[]): Promise<History> {
  const found = await identity.lookup(workspace, EVERYBODY);
  const ids = new Set(found.flatMap((ref) => (ref === null ? [] : [ref.profileId])));
  const profiles: Profile[] = [];
  for (const id of ids) {
    const members = await identity.members(workspace, id, { limit: 10_000, after: null });
    profiles.push({ id, members: members.map(({ uid, identifier }) => ({ uid, name: nameOf(identifier) })) });
  }
  const resolved = new Map<ProfileId, ProfileId | null>();
  for (const { answers } of entries)
    for (const { profile } of answers)
      if (profile !== null && !resolved.has(profile.id))
        resolved.set(profile.id, (await identity.resolve(workspace, profile.id))?.profileId ?? null);
  return { entries, profiles, resolved };
}
