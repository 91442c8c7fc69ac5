import { AppError } from "../../core/errors.js";
import {
  identifierKey,
  isFolding,
  type EventRecord,
  type Identifier,
  type StoredEvent,
} from "../../core/event/event.js";
import type { Contribution, Facet } from "../../core/profile/facet.js";
import { facetToJson } from "../../core/profile/facet-json.js";
import { emptyFacet, facetOf, addFacets } from "../../core/profile/fold.js";
import type { EventId, IdentifierKey, KeyId, SchemaId, Uid, WorkspaceId } from "../../core/ids.js";
import type { Log } from "../../core/log.js";
import { NO_METRICS } from "../../core/metrics.js";
import { encodeMessage } from "../../core/event/message.js";
import type { Delivery } from "../../core/ports/event-queue.js";
import type { DeadLetter } from "../../core/ports/event-store.js";
import type { WorkerDeps } from "../../worker/deps.js";
import { createProcessBatch, type ProcessBatch, type Result } from "../../worker/process-batch.js";
import { createMemoryPorts, partitionOf, type Hook, type MemoryPorts, type MemoryState } from "./memory/ports.js";
import { noAudiences, nobodyErased } from "./builders.js";

export const WORKSPACES = [
  "11111111-1111-4111-8111-111111111111",
  "22222222-2222-4222-8222-222222222222",
] as readonly string[] as readonly [WorkspaceId, WorkspaceId];
const SCHEMA = "page-view" as SchemaId;

export const idOf = (n: number): EventId => `00000000-0000-7000-8000-${String(n).padStart(12, "0")}` as EventId;

/** An event that folds: `city` is latest and counted, `tag` a union and added up. A `poison` in the payload is a mistake of it, a `fault` one of the program. */
export const anEvent = (
  n: number,
  { payload, ...rest }: Partial<Omit<EventRecord, "payload">> & { payload?: unknown } = {},
): EventRecord => ({
  workspace: WORKSPACES[0],
  eventId: idOf(n),
  schemaId: SCHEMA,
  schemaVersion: 1,
  timestamp: "2026-01-01T00:00:00Z",
  receivedAt: 1_767_225_600_000 + n,
  effectiveTs: `2026-01-01T00:00:${String(n % 60).padStart(2, "0")}.000000000Z`,
  folds: true,
  identifiers: [{ namespace: "email", value: "ann@example.org" }],
  dropped: [],
  keyId: "k123456789" as KeyId,
  scoped: false,
  fingerprint: null,
  notes: null,
  payload: Buffer.from(
    typeof payload === "string" ? payload : JSON.stringify(payload ?? { city: `city ${n}`, tag: n }),
  ),
  ...rest,
});

export const delivered = (event: EventRecord, attempts = 0, crashes = 0): Delivery => ({
  message: encodeMessage(event),
  attempts,
  failedAt: null,
  crashes,
});

const MERGES = [
  ["city", "city", "latest"],
  ["tag", "tag", "union"],
  ["tag", "total", "sum"],
  ["city", "cities", "count"],
] as const;

function contribute(_schema: unknown, payload: unknown): Contribution["traits"] {
  const fields = payload as Readonly<Record<string, string | number | undefined>>;
  if (fields["poison"] !== undefined) throw new AppError("validation_failed", `cannot read ${fields["poison"]}`);
  if (fields["fault"] !== undefined) throw new Error(`cannot read ${fields["fault"]}`);
  return MERGES.flatMap(([field, name, merge]) => {
    const value = fields[field];
    return value === undefined ? [] : [{ name, merge, value }];
  });
}

export interface Bench {
  readonly ports: MemoryPorts;
  readonly logged: string[];
  /** What a worker needs, but the queue. */
  readonly deps: Omit<WorkerDeps, "queue" | "batchMax">;
  /** A new process on the same data. */
  start(): ProcessBatch;
}

export interface BenchOptions {
  readonly triesMax?: number;
  readonly crashesMax?: number;
  readonly wrap?: (ports: MemoryPorts) => MemoryPorts;
  readonly now?: () => number;
}

export function createBench({
  triesMax = 5,
  crashesMax = 20,
  wrap = (same) => same,
  now = () => 1_767_225_700_000,
}: BenchOptions = {}): Bench {
  const ports = createMemoryPorts(WORKSPACES, SCHEMA);
  const logged: string[] = [];
  const writer =
    (level: string) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void =>
      void logged.push(JSON.stringify([level, fields, message]));
  const log: Log = { info: writer("info"), warn: writer("warn"), error: writer("error") };
  const of = { late: nobodyErased, ...noAudiences, log, metrics: NO_METRICS };
  const deps = { ...wrap(ports), contribute, ...of, triesMax, crashesMax, now };
  return { ports, logged, deps, start: () => createProcessBatch(deps) };
}

export const mail = (name: string): Identifier => ({ namespace: "email", value: `${name}@example.org` });
export const device = (name: string): Identifier => ({ namespace: "device_id", value: name });
export const done = { kind: "done" } as const;
export const theLetter = ({ ports }: Bench): DeadLetter => [...ports.state.letters.values()][0]!;

export const away = (): AppError => new AppError("unavailable", "away");

/** Runs the batch in a process that dies at the given call of the hook (0 is the first); null when it lived to the end. */
export async function runUntil(
  bench: Bench,
  batch: readonly Delivery[],
  dieAt: number,
): Promise<readonly Result[] | null> {
  const process = bench.start();
  let calls = 0;
  const lived = await new Promise<readonly Result[] | null>((resolve, reject) => {
    bench.ports.hook = () => {
      calls += 1;
      if (calls <= dieAt) return undefined;
      // Later, when all that the process had under way has come to a stop too.
      setImmediate(() => resolve(null));
      return new Promise(() => undefined);
    };
    process(batch).then(resolve, reject);
  });
  bench.ports.hook = () => undefined;
  return lived;
}

/** A hook that does nothing but at one of its calls, counted from 0. */
export function failAt(call: number, fault: () => void | Promise<void>): Hook {
  let calls = 0;
  return () => {
    calls += 1;
    return calls - 1 === call ? fault() : undefined;
  };
}

/** Delivers until every message is done, each failure again by itself; answers how often each was tried. Throws when it does not end. */
export async function drain(process: ProcessBatch, batch: readonly Delivery[]): Promise<readonly number[]> {
  const tries = batch.map(() => 0);
  let open = batch.map((delivery, index) => ({ delivery, index }));
  for (let round = 0; open.length > 0; round += 1) {
    if (round === 50) throw new Error("the messages do not get done");
    const results = await process(open.map(({ delivery }) => delivery));
    for (const { index } of open) tries[index]! += 1;
    open = open.flatMap(({ delivery, index }, at) => {
      const result = results[at]!;
      if (result.kind === "done") return [];
      return [{ delivery: result.kind === "retry" ? afterRetry(delivery, result.failedAt) : delivery, index }];
    });
  }
  return tries;
}

/** The message as it comes again. */
export const afterRetry = (delivery: Delivery, failedAt: number): Delivery => ({
  ...delivery,
  attempts: delivery.attempts + 1,
  failedAt: delivery.failedAt ?? failedAt,
});

const facetText = (facet: Facet): string =>
  facetToJson({
    facet: { ...facet, traits: new Map([...facet.traits].toSorted(([a], [b]) => (a < b ? -1 : 1))) },
    pending: [],
  });

const sorted = (lines: Iterable<string>): readonly string[] => [...lines].toSorted();

export const keyNamed = ({ uids }: MemoryState, uid: Uid): IdentifierKey =>
  [...uids].find(([, named]) => named === uid)![0];

/** All that the processes left, as text that two runs can be compared by. */
export const endState = (state: MemoryState) => ({
  events: sorted([...state.stored.values()].map((event) => `${event.workspace} ${event.eventId} ${event.status}`)),
  facets: sorted([...state.facets].map(([uid, { facet }]) => `${keyNamed(state, uid)} ${facetText(facet)}`)),
  partition: partitionOf(state),
  letters: sorted([...state.letters.values()].map((letter) => `${letter.deadLetterId} ${letter.reason}`)),
  marks: sorted(state.marks),
});

/** What must stand there, computed from the stored events alone: the order of all that happened plays no part. */
export function recompute(state: MemoryState): Pick<ReturnType<typeof endState>, "facets" | "partition" | "marks"> {
  const folding = [...state.stored.values()].filter((event) => isFolding(event));
  const facets = new Map<IdentifierKey, Facet>();
  for (const event of folding) {
    const key = keysOf(event)[0]!;
    facets.set(key, addFacets(facets.get(key) ?? emptyFacet, facetOf(contributionOf(event))));
  }
  return {
    facets: sorted([...facets].map(([key, facet]) => `${key} ${facetText(facet)}`)),
    partition: closureOf(folding.map(keysOf)),
    marks: sorted(folding.map(({ eventId }) => eventId)),
  };
}

const keysOf = (event: StoredEvent): readonly IdentifierKey[] =>
  event.identifiers.map((identifier) => identifierKey(event.workspace, identifier));

const contributionOf = ({ eventId, effectiveTs, payload }: StoredEvent): Contribution => ({
  eventId,
  effectiveTs,
  traits: contribute(null, JSON.parse(payload.toString())),
});

/** The slow and obvious way: sets that share a key become one. */
function closureOf(sets: readonly (readonly IdentifierKey[])[]): readonly string[] {
  let parts: readonly (readonly IdentifierKey[])[] = [];
  for (const keys of sets) {
    const seenWith = parts.filter((part) => keys.some((key) => part.includes(key)));
    const joined = new Set([...keys, ...seenWith.flat()]);
    parts = [...parts.filter((part) => !seenWith.includes(part)), [...joined]];
  }
  return sorted(parts.map((part) => sorted(part).join(" ")));
}
