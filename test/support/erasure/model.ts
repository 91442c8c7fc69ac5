import {
  completeErasure,
  continueErasure,
  isDeleted,
  type ContinueServices,
} from "../../../commands/erasures/continue.js";
import { createLate, type Late } from "../../../commands/erasures/late.js";
import { identifierKey, type EventRecord, type StoredEvent } from "../../../core/event/event.js";
import type { Erasure } from "../../../core/identity/erasure.js";
import type { AssertResult } from "../../../core/identity/model.js";
import { judgeErased, type Known, type Tombstone } from "../../../core/identity/tombstone.js";
import type { ErasureId, EventId, IdentifierKey, Tomb, Uid, WorkspaceId } from "../../../core/ids.js";
import type { Fold } from "../../../core/ports/event-store.js";
import { completeEvents, type CompleteDeps } from "../../../worker/complete-events.js";
import type { Step } from "../explore/explore.js";
import { noAudiences } from "../builders.js";

/** The stores and the graph as plain data: each call of a port is one atomic act, and a fold is three, as on servers. */
export interface World {
  queued: boolean;
  event: { status: "stored" | "folded" | "dropped"; facet: Uid | null } | null;
  /** What was folded into each. */
  facets: Map<Uid, EventId[]>;
  living: Map<IdentifierKey, Uid>;
  buried: Map<IdentifierKey, Tombstone>;
  erasure: Erasure | null;
  uids: number;
  /** They belong to nobody. */
  shared: ReadonlySet<IdentifierKey>;
}

export const ERASED_AT = 100;
const ERASURE = "the erasure" as ErasureId;

export const aWorld = (living: readonly IdentifierKey[], shared: readonly IdentifierKey[] = []): World => ({
  queued: true,
  event: null,
  facets: new Map(),
  living: new Map(living.map((key, n) => [key, `uid ${n}` as Uid])),
  buried: new Map(),
  erasure: null,
  uids: living.length,
  shared: new Set(shared),
});

/** What to break, to see that it is needed. */
export interface Broken {
  readonly late?: (late: Late) => Late;
  /** Instead of the rule: whom an event names at all refuses it. */
  readonly refusesAnyName?: true;
  /** A fold under a facet that is pinned is linked anew. */
  readonly forgetsFacet?: true;
}

const copy = <T>(value: T): T => structuredClone(value);

/** The ports over a world, for real code to run on. */
export function portsOf(
  step: Step<World>,
  event: EventRecord,
  broken: Broken = {},
  dead: readonly (Uid | null)[] = [],
) {
  const { eventId } = event;
  // What a step answers is a copy, and a copied payload is no Buffer: it is put in behind the step.
  const stored = (held: NonNullable<World["event"]>): StoredEvent => {
    const facet = broken.forgetsFacet === true && held.status === "stored" ? null : held.facet;
    // Of one that was dropped nothing is left to be linked.
    const left = held.status === "dropped" ? { folds: false, identifiers: [] } : {};
    return { ...event, ...held, ...left, facet, profileIdThen: facet, reason: null };
  };
  const events = {
    insert: async () => [stored(await step("insert", (world) => (world.event ??= { status: "stored", facet: null })))],
    fold: async (_: WorkspaceId, [fold]: readonly Fold[]) => {
      const facet = await step("pin", (world) => {
        if (world.event!.status === "dropped") return null;
        return (world.event!.facet ??= fold!.facet);
      });
      if (facet === null) return [null];
      await step("add", (world) => {
        if (world.event!.status !== "dropped")
          world.facets.set(facet, [...new Set([...(world.facets.get(facet) ?? []), eventId])]);
      });
      await step("mark", (world) => {
        if (world.event!.status === "stored") world.event!.status = "folded";
      });
      return [facet];
    },
    find: async () => null,
    drop: () =>
      step("drop", (world) => {
        if (world.event === null || world.event.status === "dropped") return 0;
        world.event = { status: "dropped", facet: null };
        return 1;
      }),
    foldedInto: (_: WorkspaceId, uids: readonly Uid[]) =>
      step("folded into", ({ event: held }) =>
        held?.status === "folded" && held.facet !== null && uids.includes(held.facet) ? [eventId] : [],
      ),
    naming: async () => {
      const held = await step("naming", (world) => world.event);
      const isKept = held?.status === "stored" && !event.folds;
      return { found: isKept ? [{ kind: "event" as const, event: stored(held) }] : [], next: null };
    },
    removeLetters: async () => 0,
    bury: async () => true,
  };
  const erasures = {
    hasErasures: () => step("flag", ({ erasure }) => erasure !== null),
    livingUids: (_: WorkspaceId, uids: readonly Uid[]) =>
      step("living", ({ living }) => new Set(uids.filter((uid) => [...living.values()].includes(uid)))),
    tombstones: (_: WorkspaceId, keys: readonly IdentifierKey[]) =>
      step("tombstones", ({ buried }) => copy(new Map([...buried].filter(([key]) => keys.includes(key))))),
    // It never changes once there is an erasure, so to read it is no step.
    buried: async (_: WorkspaceId, __: ErasureId, { after }: { readonly after: Tomb | null }) =>
      after === null ? [...dead].map((uid) => ({ tomb: "tomb" as Tomb, uid })) : [],
    countLate: async () => undefined,
    // Nobody erases again, so the log is up to date.
    findErasure: async () => null,
    advanceErasure: (_: WorkspaceId, __: ErasureId, rev: number, advance: Partial<Erasure>) =>
      step("advance", (world) => {
        if (world.erasure!.rev !== rev) return null;
        world.erasure = { ...world.erasure!, ...advance, rev: rev + 1 };
        return copy(world.erasure);
      }),
  };
  const services = {
    events,
    erasures,
    profiles: {
      findSome: (_: WorkspaceId, uids: readonly Uid[]) =>
        step("facets", ({ facets }) => {
          const found = new Map(uids.filter((uid) => facets.has(uid)).map((uid) => [uid, {}]));
          return { found, looked: uids.length };
        }),
      remove: (_: WorkspaceId, uids: readonly Uid[]) =>
        step("remove facets", ({ facets }) => uids.filter((uid) => facets.delete(uid)).length),
    },
    identity: {
      named: () => step("look up", (world) => knownOf(world, event)),
      assertAll: () => step("link", (world) => [link(world, event, broken)]),
    },
    catalog: { namespaces: async () => [], backfillsOf: async () => [] },
    ...noAudiences,
    seats: { append: async () => undefined },
    erasureLog: { append: async () => undefined },
    purge: { due: () => undefined },
    now: () => ERASED_AT + 1,
  };
  return services as unknown as ContinueServices & Parameters<typeof createLate>[0] & Pick<CompleteDeps, "identity">;
}

const knownOf = ({ living, shared }: World, { workspace, identifiers }: EventRecord): readonly Known[] =>
  identifiers.map((one) => {
    const key = identifierKey(workspace, one);
    return { isKnown: living.has(key), isPerson: true, isShared: shared.has(key) };
  });

function link(world: World, event: EventRecord, { refusesAnyName }: Broken): Partial<AssertResult> {
  const keys = event.identifiers.map((one) => identifierKey(event.workspace, one));
  const named = knownOf(world, event).map((one, n) => ({ ...one, tombstone: world.buried.get(keys[n]!) ?? null }));
  const times = { receivedAt: event.receivedAt, effectiveAt: event.receivedAt };
  const anyOf = named.find(({ tombstone }) => tombstone !== null)?.tombstone ?? null;
  const refusedBy = refusesAnyName === true ? anyOf : judgeErased(named, times).refusedBy;
  if (refusedBy !== null) return { refusedBy: copy(refusedBy), facet: null, profileId: null, dropped: [] };
  // A limit keeps the others out, so the first is linked alone.
  const first = keys[0]!;
  if (!world.living.has(first)) world.living.set(first, `uid ${world.uids++}` as Uid);
  const uid = world.living.get(first)!;
  return { refusedBy: null, facet: uid, profileId: uid, dropped: [] };
}

/** Handles the one message, as often as it takes until it is acknowledged. */
export async function work(step: Step<World>, event: EventRecord, broken: Broken = {}): Promise<void> {
  const services = portsOf(step, event, broken);
  const late = createLate(services);
  const deps = {
    ...services,
    late: broken.late?.(late) ?? late,
    contribute: () => [],
    metrics: { folded: () => undefined, sdkMismatches: () => undefined },
  } as unknown as CompleteDeps;
  const delivery = { message: Buffer.alloc(0), attempts: 0, failedAt: null, crashes: 0 };
  await completeEvents(deps, async () => ({}) as never, event.workspace, [{ index: 0, delivery, event }]);
  await step("acknowledge", (world) => void (world.queued = false));
}

/** Erases whom the key names, and removes what is left. */
export async function erase(step: Step<World>, event: EventRecord, key: IdentifierKey): Promise<void> {
  // An event that folds is found by its facet alone: the pieces before that only make the number of orders larger.
  const cursor = event.folds ? JSON.stringify({ stage: "facets", after: null, naming: null, claimed: null }) : null;
  const stone = await step("erase", (world) => {
    const uid = world.living.get(key);
    if (world.erasure === null) {
      world.living.delete(key);
      const uids = uid === undefined ? [] : [uid];
      world.buried.set(key, { erasureId: ERASURE, erasedAt: ERASED_AT, isSuppressed: false, uids });
      world.erasure = { ...anErasure(event.workspace), cursor };
    }
    return world.buried.get(key)!;
  });
  const services = portsOf(step, event, {}, [stone.uids[0] ?? null]);
  for (let erasure: Erasure | null = null; ;) {
    erasure ??= await step("read", ({ erasure: held }) => held!);
    if (erasure.completedAt !== null) return;
    if (isDeleted(erasure)) return completeErasure(services, erasure, ERASED_AT);
    erasure = await continueErasure(services, erasure);
  }
}

const anErasure = (workspace: WorkspaceId): Erasure => ({
  workspace,
  erasureId: ERASURE,
  erasedAt: ERASED_AT,
  keyId: "key" as Erasure["keyId"],
  profileId: null,
  identifiers: new Map(),
  suppress: false,
  readmittedAt: null,
  links: 0,
  changes: 0,
  isGone: true,
  rev: 0,
  removed: {},
  cursor: null,
  late: { events: 0, lastAt: null },
  completedAt: null,
});
