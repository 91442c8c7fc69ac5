import assert from "node:assert/strict";
import type http from "node:http";
import type { Identifier } from "../../../core/event/event.js";
import type { Name } from "../trust/model.js";
import type { Random } from "../random/random.js";
import { at, listAt, textAt, until, type Answer, type App, type TestWorkspace } from "../service/app.js";
import { createFeedLog, type Copy, type FeedLog } from "./audiences/feed-log.js";
import type { Underway } from "./audiences/underway.js";
import type { Merge } from "./profile.js";
import { SCHEMA_OF } from "./draw-rule.js";
import type { Mode, SchemaName } from "./program.js";
import { createTruth, type Truth } from "./truth.js";

/** How often each command ran, and what came of it. */
export interface Counts {
  add(command: string, outcome: string): void;
  show(): readonly string[];
}

export function createCounts(): Counts {
  const counts = new Map<string, Map<string, number>>();
  return {
    add: (command, outcome) => {
      const outcomes = counts.get(command) ?? new Map<string, number>();
      counts.set(command, outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1));
    },
    show: () =>
      [...counts]
        .map(([command, outcomes]) => {
          const all = [...outcomes.values()].reduce((sum, n) => sum + n, 0);
          const each = Array.from(outcomes, ([outcome, n]) => `${outcome} ${n}`);
          return `${command} ${all}: ${each.toSorted().join(", ")}`;
        })
        .toSorted(),
  };
}

/** The services under test: one clock for each workspace, which all of them share. */
export interface Place {
  /** Where requests go. */
  readonly app: App;
  readonly ahead: Map<string, number>;
  /** Workspaces whose events become dead letters. */
  readonly dying: Set<string>;
  /** Another installation, with the same clocks. */
  readonly other: Place | null;
  readonly underway: Underway;
  /** Resolves when all is done that the keepers had to do when it was called. */
  rest(): Promise<void>;
}

/** One program's workspace, and what must be true of it. */
export interface Bench {
  place: Place;
  workspace: TestWorkspace;
  readonly mode: Mode;
  readonly random: Random;
  readonly counts: Counts;
  readonly truth: Truth;
  readonly schemas: Readonly<Record<SchemaName, string>>;
  readonly datasets: Readonly<Record<SchemaName, string>>;
  /** When the program began, in whole seconds: what is equally old has the same time. */
  readonly began: number;
  /** What the model calls uids and changes, as the service calls them; found out as it answers. */
  readonly realOf: Map<string, string>;
  /** What an id that was answered stands for. */
  readonly modelOf: Map<string, string>;
  /** What was read of the feed. */
  feed: FeedLog;
  /** Copies of members that were made since it was last at rest. */
  readonly copies: Copy[];
  /** So many of the entries are counted. */
  readonly told: { entries: number };
  /** Changes of audiences. */
  readonly turn: { begun: number; ended: number; last: Promise<void> };
  /** The rule with the ids of this workspace. */
  readonly ruleHere: (rule: object) => object;
  readonly send: (
    method: string,
    target: string,
    body?: unknown,
    headers?: http.OutgoingHttpHeaders,
  ) => Promise<Answer>;
}

const IDENTITIES = ["user_id", "email", "device_id", "cookie_id"] as const;
const TYPES = {
  city: ["string", "null"],
  ref: ["string", "null"],
  low: "number",
  high: "number",
  spent: ["number", "null"],
  items: ["integer", "null"],
} as const;

export const MERGES: Readonly<Record<SchemaName, Readonly<Record<string, Merge>>>> = {
  act: { city: "latest", ref: "first", low: "min", high: "max", tags: "union", spent: "sum", items: "count" },
  note: { city: "latest", high: "max", tags: "union", spent: "sum" },
};

const traitOf = (name: string, schema: SchemaName) => {
  const merge = MERGES[schema][name];
  return merge === undefined ? {} : { "x-trait": { name, merge } };
};

const schemaOf = (schema: SchemaName): object => ({
  type: "object",
  properties: {
    n: { type: "integer" },
    ...Object.fromEntries(
      IDENTITIES.map((namespace) => [
        namespace,
        { type: "array", items: { type: "string", "x-identity": { namespace } } },
      ]),
    ),
    ...Object.fromEntries(Object.entries(TYPES).map(([name, type]) => [name, { type, ...traitOf(name, schema) }])),
    tags: { type: "array", items: { type: ["string", "number", "boolean"], ...traitOf("tags", schema) } },
  },
});

export async function openBench(place: Place, mode: Mode, random: Random, counts: Counts): Promise<Bench> {
  const workspace = await place.app.workspace();
  /** Many workspaces begin at once, and schemas wait for one thread: what is refused for that is asked for again. */
  const made = async (target: string, body: object): Promise<Answer> => {
    const answer = await until(
      () => workspace.send("POST", target, body),
      ({ status }) => status !== 503,
    );
    assert.equal(answer.status, 201, answer.text);
    return answer;
  };
  const register = async (name: SchemaName): Promise<string> =>
    textAt((await made("/v1/schemas", { schema: schemaOf(name) })).body, "schema_id");
  const dataset = async (schema_id: string, unified_profile: boolean): Promise<string> =>
    textAt((await made("/v1/datasets", { name: "d", schema_id, unified_profile })).body, "dataset_id");
  const schemas = { act: await register("act"), note: await register("note") };
  const truth = createTruth();
  truth.unified.add(schemas.act);
  const bench: Bench = {
    place,
    workspace,
    mode,
    random,
    counts,
    truth,
    schemas,
    datasets: { act: await dataset(schemas.act, true), note: await dataset(schemas.note, false) },
    began: Math.floor(Date.now() / 1_000) * 1_000,
    realOf: new Map(),
    modelOf: new Map(),
    feed: createFeedLog(),
    copies: [],
    told: { entries: 0 },
    turn: { begun: 0, ended: 0, last: Promise.resolve() },
    ruleHere: (rule) =>
      JSON.parse(
        JSON.stringify(rule).replaceAll(SCHEMA_OF.act, schemas.act).replaceAll(SCHEMA_OF.note, schemas.note),
      ) as object,
    send: (...request) =>
      bench.workspace.send(...request).catch((error: NodeJS.ErrnoException) => {
        // A busy machine writes to a connection that the service has just closed as idle, which it never reads.
        if (error.code === "ECONNRESET") return bench.workspace.send(...request);
        throw error;
      }),
  };
  return bench;
}

/** The answer, which must have the status. */
export async function ask(bench: Bench, status: number, ...request: Parameters<Bench["send"]>): Promise<Answer> {
  const answer = await bench.send(...request);
  assert.equal(answer.status, status, `${request[0]} ${request[1]}: ${answer.text}`);
  return answer;
}

/** All items of a list that has pages of the limit. */
export async function pages(bench: Bench, target: string, name: string, limit: number): Promise<readonly unknown[]> {
  const items: unknown[] = [];
  const joint = target.includes("?") ? "&" : "?";
  for (let cursor = ""; ;) {
    const { body } = await ask(bench, 200, "GET", `${target}${joint}limit=${limit}${cursor}`);
    items.push(...listAt(body, name));
    if (body["next_cursor"] === null) return items;
    cursor = `&cursor=${textAt(body, "next_cursor")}`;
  }
}

/** The same of a list that is asked for by a body. */
export async function postPages(bench: Bench, target: string, body: object): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (let cursor: object = {}; ;) {
    const answer = await ask(bench, 200, "POST", target, { ...body, ...cursor });
    answers.push(answer);
    if (answer.body["next_cursor"] === null) return answers;
    cursor = { cursor: answer.body["next_cursor"] };
  }
}

/** `of` counts from the newest, and goes round. */
export const fromNewest = <T>(list: readonly T[], of: number): T | undefined =>
  list[list.length - 1 - (of % Math.max(1, list.length))];

/** The service's id for what the model calls so: the first that was answered, for ever. */
export function bind({ realOf, modelOf }: Bench, model: string, real: string): void {
  const known = realOf.get(model) ?? real;
  assert.equal(real, known, `${model} was ${known}`);
  assert.equal(modelOf.get(real) ?? model, model, `${real} names two`);
  realOf.set(model, real);
  modelOf.set(real, model);
}

/** Binds the answered ids to those that the model expects, in any order of either; the known ones must agree. */
export function bindAll(bench: Bench, models: readonly string[], reals: readonly string[]): void {
  assert.equal(reals.length, models.length, `${reals.join()} for ${models.join()}`);
  const open = models.filter((model) => {
    const real = bench.realOf.get(model);
    if (real !== undefined) assert.ok(reals.includes(real), `${model} is not among the answered`);
    return real === undefined;
  });
  const left = reals.filter((real) => !bench.modelOf.has(real));
  assert.equal(left.length, open.length, `${reals.join()} for ${models.join()}`);
  // Both are in the order in which uids were given.
  for (const [i, real] of left.toSorted().entries()) bind(bench, open.toSorted()[i]!, real);
}

/** One that was erased since has no value any more. */
export const nameIn = (one: unknown): Name =>
  at(one, "erased") === true
    ? `${textAt(one, "namespace")}:(erased)`
    : `${textAt(one, "namespace")}:${textAt(one, "value")}`;

/** An e-mail address is one however it is written. */
const spelled = (name: string): string => (name.includes("@") ? name.toLowerCase().replaceAll(" ", "") : name);

export const showDropped = (list: readonly unknown[]): readonly string[] =>
  list
    .map((one) => {
      const rule = textAt(one, "rule");
      const pair = (one as { readonly from?: Identifier; readonly to?: Identifier }).from;
      if (pair === undefined)
        return `${spelled(nameIn((one as { readonly identifier: Identifier }).identifier))} ${rule}`;
      const sides = [pair, (one as { readonly to: Identifier }).to].map(nameIn).toSorted();
      return `${sides.join(" ")} ${rule}`;
    })
    .toSorted();
