import type { Moment, Step } from "./points.js";

/** What is found in the store of the dead process, before anybody goes on with it. */
export interface Remains {
  readonly queued: number;
  readonly event: "none" | "stored" | "folded";
}

/** One kill of the crash table. `batch` rows send the event in an atomic batch of three. */
export interface CrashRow {
  readonly title: string;
  readonly sends: "event" | "batch" | "identify" | "erasure";
  /** Of the process that is killed. */
  readonly mode: "all" | "gateway" | "worker";
  /** Null: killed from outside, once the client has its answer. */
  readonly at: readonly [step: Step, moment: Moment, call?: number] | null;
  readonly clientSaw: "reset" | "answer";
  /** Null where it depends on how far the worker was. */
  readonly remains: Remains | null;
}

const NOTHING: Remains = { queued: 0, event: "none" };
const QUEUED: Remains = { queued: 1, event: "none" };
const STORED: Remains = { queued: 1, event: "stored" };
const FOLDED: Remains = { queued: 1, event: "folded" };
const FINISHED: Remains = { queued: 0, event: "folded" };

const base = { sends: "event", mode: "all", clientSaw: "reset" } as const;

const lost = (title: string, at: CrashRow["at"], remains: Remains): CrashRow => ({
  ...base,
  title: `killed ${title}: the client saw a reset, and a retry with the same key makes the event exactly one`,
  at,
  remains,
});

const accepted = (title: string, at: CrashRow["at"], remains: Remains | null): CrashRow => ({
  ...base,
  title: `killed ${title}: the accepted event is stored once and folded once, with no retry`,
  at,
  clientSaw: "answer",
  remains,
});

const batch = (title: string, at: CrashRow["at"], remains: Remains): CrashRow => ({
  ...base,
  title: `killed ${title} of an atomic batch: all of it is queued or nothing, and a retry makes each event exactly one`,
  sends: "batch",
  at,
  remains,
});

const identify = (title: string, at: CrashRow["at"]): CrashRow => ({
  ...base,
  title: `killed ${title} of an identify: a retry answers the one profile`,
  sends: "identify",
  at,
  remains: NOTHING,
});

const erasure = (title: string, at: NonNullable<CrashRow["at"]>): CrashRow => ({
  ...base,
  title: `killed ${title} of an erasure: it goes on, and nothing of the person is left`,
  sends: "erasure",
  at,
  clientSaw: at[0] === "erase" ? "reset" : "answer",
  remains: null,
});

/** Some of the times that the keeper notes how far it is: the log, the audiences, the names, the events, the facets, the files. */
const ADVANCES = [1, 2, 3, 5, 7, 9];

/** Every step of an erasure. */
const ERASURES: readonly CrashRow[] = [
  erasure("before the graph's step", ["erase", "before"]),
  erasure("in the graph's step, before its commit,", ["erase", "uncommitted"]),
  erasure("between the graph's step and the 202", ["erase", "committed"]),
  ...ADVANCES.map((n) => erasure(`before the keeper notes its step ${n}`, ["advance", "before", n])),
  erasure("before the events are dropped", ["drop", "before"]),
  erasure("in the drop of the events, before its commit,", ["drop", "uncommitted"]),
  erasure("between the drop of the events and its note", ["drop", "committed"]),
  erasure("in the removal of the facets, before its commit,", ["removeFacets", "uncommitted"]),
  erasure("between the removal of the facets and its note", ["removeFacets", "committed"]),
  erasure("before the files are purged", ["purge", "before"]),
  erasure("between the purge and the completion", ["purge", "after"]),
];

/** Every step of a message's way, before it, in its commit and after it. */
export const CRASH_TABLE: readonly CrashRow[] = [
  lost("before the publish", ["publish", "before"], NOTHING),
  lost("in the publish, before its commit", ["publish", "uncommitted"], NOTHING),
  lost("between the publish's commit and the 202", ["publish", "committed"], QUEUED),
  batch("before the publish", ["publishAll", "before"], NOTHING),
  batch("in the publish, before its commit,", ["publishAll", "uncommitted"], NOTHING),
  batch("between the publish's commit and the 202", ["publishAll", "committed"], { queued: 3, event: "none" }),
  accepted("right after the 202", null, null),
  accepted("when the worker has taken the message", ["take", "before"], QUEUED),
  accepted("in the insert, before its commit", ["insert", "uncommitted"], QUEUED),
  accepted("between the insert and its answer", ["insert", "committed"], STORED),
  accepted("between the insert and the links", ["link", "before"], STORED),
  accepted("in the linking, before its commit", ["link", "uncommitted"], STORED),
  accepted("between the links' commit and their answer", ["link", "committed"], STORED),
  accepted("between the links and the fold", ["fold", "before"], STORED),
  accepted("in the fold, before its commit", ["fold", "uncommitted"], STORED),
  accepted("between the fold's commit and its answer", ["fold", "committed"], FOLDED),
  accepted("between the fold and the acknowledgement", ["settle", "before"], FOLDED),
  accepted("in the acknowledgement, before its commit", ["settle", "uncommitted"], FOLDED),
  accepted("after the acknowledgement's commit", ["settle", "committed"], FINISHED),
  identify("before the commit", ["link", "uncommitted"]),
  identify("between the commit and the answer", ["link", "committed"]),
  ...ERASURES,
];

/** There the facet and the mark are written one after the other, and what a crash leaves between them must count once. */
const FOLD_ON_SERVERS: readonly CrashRow[] = (
  [
    ["before the event has its facet", ["pin", "before"], STORED],
    ["when the event gets its facet", ["pin", "during"], null],
    ["between the event's facet and the read of it", ["read", "before"], STORED],
    ["between the read of the facet and that of the marks", ["marked", "before"], STORED],
    ["between the read of the marks and the save of the facet", ["save", "before"], STORED],
    ["in the save of the facet", ["save", "during"], null],
    ["between the save of the facet and the mark", ["mark", "before"], STORED],
    ["in the mark", ["mark", "during"], null],
    ["between the mark and its answer", ["mark", "after"], FOLDED],
  ] as const
).map(([title, at, remains]) => ({ ...accepted(title, at, remains), mode: "worker" }));

/**
 * The same rows where servers hold the data: they commit where nobody here sees it, so a kill in a step comes when the server was
 * asked, and one after the commit when it has answered. A gateway has no worker in it, which might take the message at once.
 */
export const SERVERS_TABLE: readonly CrashRow[] = CRASH_TABLE.flatMap((row) => {
  if (row.sends === "erasure") return [onServers(row)];
  const [step, moment] = row.at ?? [null, null];
  if (step === "fold") return moment === "before" ? FOLD_ON_SERVERS : [];
  // Over a broker the worker may have a message before the 202 is on its way, so they are processes of their own.
  const isPublish = step === "publish" || step === "publishAll";
  const mode = isPublish ? "gateway" : step !== null && row.sends === "event" ? "worker" : row.mode;
  if (step === null || moment === "before") return [{ ...row, mode }];
  if (moment === "uncommitted") return [{ ...row, mode, at: [step, "during"], remains: null }];
  // A broker counts a list that nobody took as one.
  return [{ ...row, mode, at: [step, "after"], remains: row.sends === "batch" ? null : row.remains }];
});

/** The keeper is in the worker. */
function onServers(row: CrashRow): CrashRow {
  const [step, moment, call = 1] = row.at!;
  const there = moment === "uncommitted" ? "during" : moment === "committed" ? "after" : moment;
  return { ...row, mode: step === "erase" ? "gateway" : "worker", at: [step, there, call] };
}
