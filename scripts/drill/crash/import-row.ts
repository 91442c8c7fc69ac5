import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { andThen } from "../../shared/async.js";
import {
  createWorkspace,
  openClient,
  requireAnswer,
  type Answer,
  type Client,
  type Request,
} from "../../shared/client.js";
import { openFolder, type Ground } from "../../shared/grounds.js";
import { beginLife } from "../process/life.js";
import { OPERATOR_KEY } from "../process/target.js";
import type { Moment, Step } from "./points.js";
import * as act from "./stage.js";

/** One kill while the exports of another installation are read. */
export interface ImportRow {
  readonly title: string;
  readonly at: readonly [step: Step, moment: Moment, call?: number];
}

const row = (title: string, ...at: ImportRow["at"]): ImportRow => ({
  title: `killed ${title} of an import: done again from its beginning, it gives what was exported`,
  at,
});

export const IMPORT_TABLE: readonly ImportRow[] = [
  row("before the beginning", "setImporting", "before"),
  row("in the beginning, before its commit,", "setImporting", "uncommitted"),
  row("after the beginning", "setImporting", "committed"),
  row("in a schema, before its commit,", "putSchema", "uncommitted"),
  row("between a schema and the next", "putSchema", "committed"),
  row("before an audience", "saveAudiences", "before"),
  row("in an audience, before its commit,", "saveAudiences", "uncommitted"),
  row("between an audience and the one that refers to it", "saveAudiences", "committed"),
  row("in the profiles, before their commit,", "link", "uncommitted"),
  row("between the profiles and their facets", "saveFacets", "before"),
  row("in the facets, before their commit,", "saveFacets", "uncommitted"),
  row("between the facets and the changes", "saveFacets", "committed"),
  ...[2, 3].flatMap((call) => [
    row(`in step ${call} of the graph, before its commit,`, "link", "uncommitted", call),
    row(`after step ${call} of the graph`, "link", "committed", call),
  ]),
  row("before the events", "insert", "before"),
  row("in the events, before their commit,", "insert", "uncommitted"),
  row("between the events and their folds", "fold", "before"),
  row("in the folds, before their commit,", "fold", "uncommitted"),
  row("after the folds", "fold", "committed"),
  row("before the end", "setImporting", "before", 2),
  row("in the end, before its commit,", "setImporting", "uncommitted", 2),
  row("after the end", "setImporting", "committed", 2),
];

/** As in `SERVERS_TABLE`. */
export const IMPORT_SERVERS_TABLE: readonly ImportRow[] = IMPORT_TABLE.map((one) => {
  const [step, moment, call = 1] = one.at;
  if (step === "fold") return { ...one, at: moment === "before" ? ["pin", "before"] : ["mark", "before"] };
  return { ...one, at: [step, moment === "uncommitted" ? "during" : moment === "committed" ? "after" : moment, call] };
});

const KINDS = ["catalog", "profiles", "changes", "links", "events"] as const;
type Lines = ReadonlyMap<(typeof KINDS)[number], readonly string[]>;
type Line = Readonly<Record<string, unknown>>;

const send = (client: Client, key: string, method: Request["method"], path: string, body?: object | string) =>
  client.send({
    method,
    path,
    key,
    ...(body !== undefined && { body, headers: { "Content-Type": "application/x-ndjson" } }),
  });

async function exported(client: Client, key: string): Promise<Lines> {
  const all = new Map<(typeof KINDS)[number], readonly string[]>();
  for (const kind of KINDS) {
    const { status, text } = await send(client, key, "GET", `/v1/exports/${kind}`);
    assert.equal(status, 200, text);
    all.set(kind, text.trimEnd().split("\n"));
  }
  return all;
}

interface Source {
  readonly lines: Lines;
  readonly members: readonly unknown[];
}

/** An installation with a person who did two things, and audiences of them, one of which refers to the other. */
async function makeSource(): Promise<Source> {
  const ground = await openFolder();
  const make = async () => {
    const stage = await act.prepare(ground);
    return act.withService(ground, async (play) => {
      const { client, service } = play;
      const { key } = stage.site;
      const create = (name: string, rule: object) =>
        requireAnswer<{ readonly audience_id: string }>(client, 201, {
          method: "POST",
          path: "/v1/audiences",
          key,
          body: { name, rule },
        });
      const spent = { $events: { schema_id: "drill", sum: "amount", is: { $gte: 0.25 } } };
      const { audience_id: id } = await create("spent", spent);
      await create("spent in Oslo", { $and: [{ $audience: id }, { "traits.city": "Oslo" }] });
      await act.retryEvent(client, stage);
      await act.requireFoldedOnce(play, stage);
      await service.keeper!.rest();
      return { lines: await exported(client, key), members: await membersOf(client, key) };
    });
  };
  return andThen(make, () => ground.drop());
}

async function membersOf(client: Client, key: string): Promise<readonly unknown[]> {
  const get = <T>(path: string) => requireAnswer<T>(client, 200, { method: "GET", path, key });
  const { audiences } = await get<{ readonly audiences: readonly { readonly audience_id: string }[] }>("/v1/audiences");
  const found: unknown[] = [];
  for (const { audience_id: id } of audiences) {
    const page = await get<{ readonly state: string; readonly members: readonly { readonly profile_id: string }[] }>(
      `/v1/audiences/${id}/members`,
    );
    found.push([id, page.state, page.members.map(({ profile_id: profileId }) => profileId)]);
  }
  return found;
}

/** The whole import from its beginning. Null: nobody answered any more. Else the first answer that was none of success, or the last. */
async function importAll(client: Client, key: string, lines: Lines): Promise<Answer | null> {
  const steps: readonly (() => Promise<Answer>)[] = [
    () => send(client, key, "POST", "/v1/imports"),
    ...KINDS.map((kind) => () => send(client, key, "POST", "/v1/imports/lines", lines.get(kind)!.join("\n"))),
    () => send(client, key, "DELETE", "/v1/imports"),
  ];
  let last: Answer | null = null;
  for (const step of steps) {
    last = await patiently(step);
    if (last === null || last.status >= 300) return last;
  }
  return last;
}

const TRIES_MAX = 20;
const AGAIN_MS = 500;

/** As the command line does: a busy service says 503, and is asked once more. */
async function patiently(step: () => Promise<Answer>): Promise<Answer | null> {
  for (let tries = 1; ; tries += 1) {
    const answer = await step().catch(() => null);
    if (answer?.status !== 503 || tries === TRIES_MAX) return answer;
    await sleep(AGAIN_MS);
  }
}

const DYING_MS = 10_000;

/** Kills a process in the midst of an import, and has another one do it again. Throws unless all is there then, once. */
export async function runImportRow({ at }: ImportRow, openGround: () => Promise<Ground>): Promise<void> {
  // Another one for each row: on servers they share a graph, where an id stands once.
  const { lines, members } = await makeSource();
  const ground = await openGround();
  const run = async (): Promise<void> => {
    const { workspace_id: workspace, key } = await act.withService(ground, ({ client }) =>
      createWorkspace(client, OPERATOR_KEY, "copy"),
    );
    await crash(ground, key, at, lines);
    await act.withService(ground, async ({ client, service }) => {
      const state = await send(client, key, "POST", "/v1/imports?dry_run=true");
      const { open, stands } = JSON.parse(state.text) as { readonly open: boolean; readonly stands: readonly string[] };
      // Where the end was stored, nothing is left to be done.
      if (open || stands.length === 0) {
        const answer = await importAll(client, key, lines);
        assert.deepEqual([answer?.status, answer?.text], [204, ""]);
      }
      await service.keeper!.rest();
      const here = await exported(client, key);
      for (const kind of KINDS) assert.deepEqual(settled(here.get(kind)!), settled(lines.get(kind)!), kind);
      assert.deepEqual(await membersOf(client, key), members);
      const { entries } = await service.backends.seats.feed(workspace, 0, 100);
      assert.deepEqual(
        entries.map(({ entry }) => ("cause" in entry ? `${entry.type} ${entry.cause}` : entry.type)),
        ["entered built", "entered built"],
      );
    });
  };
  await andThen(run, () => ground.drop());
}

async function crash(
  ground: Ground,
  key: string,
  [step, moment, call = 1]: ImportRow["at"],
  lines: Lines,
): Promise<void> {
  const settings = { ...ground.settings, MODE: "all" };
  const life = await beginLife({ settings, kill: { kind: "step", step, moment, call } });
  if (!("url" in life)) throw new Error(`The service did not start: ${life.log}`);
  const client = openClient(life.url, 1);
  try {
    assert.equal(await importAll(client, key, lines), null, "the client must not get an answer");
    const ending = await Promise.race([life.ended, sleep(DYING_MS, null, { ref: false })]);
    assert.equal(ending?.signal, "SIGKILL", "the process must have died at the point");
  } finally {
    life.kill();
    client.close();
    await life.ended;
  }
}

/** Without what is of an installation, or of a moment: positions, and which events of a facet wait for their marks. */
const settled = (lines: readonly string[]): readonly string[] =>
  lines
    .map((text) => {
      const line = JSON.parse(text) as Line;
      const identifiers = (line["identifiers"] as readonly Line[] | undefined)?.map((one) => {
        const facet = one["facet"] as readonly unknown[] | undefined;
        return facet === undefined ? one : { ...one, facet: facet.slice(0, 4) };
      });
      return JSON.stringify({ ...line, identifiers, position: undefined });
    })
    .toSorted();
