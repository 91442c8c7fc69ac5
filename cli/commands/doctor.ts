import { readFileSync } from "node:fs";
import { ApiError } from "../../client/client.js";
import type { Http } from "../../client/http.js";
import { read, type Command, type Context } from "../command.js";
import { EXIT, failureOf, usage } from "../fail.js";
import { count, plain, table } from "../show.js";

interface Check {
  readonly check: string;
  readonly status: "ok" | "warn" | "fail";
  readonly detail: string;
}

/** Less is the time of the answer's way, and of its whole seconds. */
const SKEW_MS_MAX = 5_000;
const ANSWER_MS = 10_000;
const LISTED_MAX = 100;

const VERSION = (
  JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as { readonly version: string }
).version;

export const doctor: Command = {
  name: "doctor",
  summary: "checks the service, the key and the workspace",
  help: `onym doctor [options]
Checks: the service answers, its parts are there, the versions, the clocks, the key and its role, whether a profile may
get a second user_id, dead letters, and what was refused in the last hour. Exit code 1 if a check fails.
`,
  options: {},
  run: async (context) => {
    if (context.positionals.length > 0) throw usage("doctor: takes no argument; --url names the service");
    const checks = await examine(context);
    const isFine = checks.every(({ status }) => status !== "fail");
    const rows = checks.map(({ check, status, detail }) => [status, check, plain(detail)]);
    await context.print({ status: isFine ? "ok" : "fail", checks }, table(rows));
    return isFine ? EXIT.done : EXIT.refused;
  },
};

async function examine({ service, http }: Context): Promise<readonly Check[]> {
  const { url, key, keyPlace, isLoopback } = service;
  const checks: Check[] = [];
  const note = (check: string, status: Check["status"], detail: string): void =>
    void checks.push({ check, status, detail });
  const began = Date.now();
  const answer = await get(`${url}/readyz`);
  if (answer instanceof Error) {
    note("service", "fail", `${url} does not answer (${answer.message})`);
    return checks;
  }
  note("service", "ok", `${url} answers in ${Date.now() - began} ms`);
  if (url.startsWith("http:") && !isLoopback) note("transport", "warn", "http: the key goes over the network in clear");
  noteReadiness(note, answer);
  noteClock(note, answer, began);
  await noteVersions(note, url);
  if (key === null) {
    note("key", "fail", "there is none: set ONYM_KEY, or name a file with --key-file");
    return checks;
  }
  try {
    const api = http();
    const role = await roleOf(api);
    note("key", role === null ? "fail" : "ok", `${role ?? "is not valid here"} (from ${keyPlace})`);
    if (role !== null && role !== SENDING) await examineWorkspace(note, api, role);
  } catch (error) {
    // The checks before say which part is away.
    note("workspace", "fail", failureOf(error, url).message);
  }
  return checks;
}

const SENDING = "sending key";

type Note = (check: string, status: Check["status"], detail: string) => void;

interface Got {
  readonly headers: Headers;
  readonly status: number;
  readonly text: string;
}

async function get(url: string): Promise<Got | Error> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) });
    return { headers: response.headers, status: response.status, text: await response.text() };
  } catch (error) {
    const cause = (error as Error).cause as NodeJS.ErrnoException | undefined;
    return new Error(cause?.code ?? (error as Error).message);
  }
}

function noteReadiness(note: Note, { status, text }: Got): void {
  const told = jsonIn(text) as { readonly status?: string; readonly reasons?: Readonly<Record<string, string>> } | null;
  const reasons = Object.entries(told?.reasons ?? {}).map(([part, reason]) => `${part}: ${reason}`);
  if (told?.status === undefined) note("readyz", "fail", `${status}, and not what Onym answers`);
  else if (status === 200 && told.status === "ready") note("readyz", "ok", "ready");
  else note("readyz", status === 200 ? "warn" : "fail", [told.status, ...reasons].join("; "));
}

function noteClock(note: Note, { headers }: Got, began: number): void {
  const there = Date.parse(headers.get("Date") ?? "");
  if (Number.isNaN(there)) return note("clock", "warn", "the service does not tell its time");
  const skew = there - (began + Date.now()) / 2;
  const seconds = Math.round(Math.abs(skew) / 1_000);
  if (Math.abs(skew) <= SKEW_MS_MAX) note("clock", "ok", "the same as here");
  else note("clock", "warn", `the service is ${count(seconds, "second")} ${skew > 0 ? "ahead" : "behind"}`);
}

/** The metrics tell it, where they are open. */
async function noteVersions(note: Note, url: string): Promise<void> {
  const answer = await get(`${url}/metrics`);
  const text = answer instanceof Error || answer.status !== 200 ? "" : answer.text;
  const there = /^onym_build_info\{[^}]*version="([^"]+)"/m.exec(text)?.[1];
  if (there === undefined) note("versions", "ok", `here ${VERSION}; the service's is only in its metrics`);
  else note("versions", there === VERSION ? "ok" : "warn", `here ${VERSION}, the service ${there}`);
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

interface Me {
  readonly key: { readonly role: string };
}

/** Null: the key is not valid. */
async function roleOf(http: Http): Promise<string | null> {
  try {
    return (await read<Me>(http, "/v1/me")).key.role;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.problem.status === 401) return null;
    // It may only send.
    if (error.problem.status === 403) return SENDING;
    throw error;
  }
}

interface DeadLetters {
  readonly dead_letters: readonly { readonly reason: string }[];
  readonly next_cursor: string | null;
}

async function examineWorkspace(note: Note, http: Http, role: string): Promise<void> {
  const { limit } = await read<{ readonly limit: number | null }>(http, "/v1/namespaces/user_id");
  if (limit === null)
    note("user_id", "warn", "no limit: a device that two people share can join them (docs/identity.md)");
  else note("user_id", "ok", `at most ${limit} in a profile`);
  if (role === "owner" || role === "admin") {
    const path = `/v1/dead-letters?state=open&limit=${LISTED_MAX}`;
    const { dead_letters: letters, next_cursor: next } = await read<DeadLetters>(http, path);
    const reasons = [...new Set(letters.map(({ reason }) => reason))].join(", ");
    const many = `${letters.length}${next === null ? "" : " or more"}`;
    note("dead letters", letters.length === 0 ? "ok" : "warn", letters.length === 0 ? "none" : `${many}: ${reasons}`);
  } else note("dead letters", "ok", "not looked at: that needs an admin key");
  await noteRefusals(note, http);
}

interface Stats {
  readonly accepted: number;
  readonly quarantined: number;
  readonly rejected: number;
  readonly senders: readonly { readonly key_id: string | null; readonly codes: Readonly<Record<string, number>> }[];
}

async function noteRefusals(note: Note, http: Http): Promise<void> {
  const { accepted, quarantined, rejected, senders } = await read<Stats>(http, "/v1/stats");
  const codes = [...new Set(senders.flatMap((sender) => Object.keys(sender.codes)))].toSorted();
  const why = codes.length === 0 ? "" : ` (${codes.join(", ")})`;
  const many = `last hour: ${accepted} accepted, ${quarantined} quarantined, ${rejected} rejected${why}`;
  note("refusals", quarantined + rejected === 0 ? "ok" : "warn", many);
}
