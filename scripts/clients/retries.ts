import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../shared/async.js";
import type { Answer } from "../shared/client.js";
import type { Program } from "./install.js";
import { startClient, type Client, type Report } from "./process.js";
import type { Refusals } from "./refusals.js";
import { openRelay, type Relay } from "./relay.js";
import type { Sdk } from "./sdks.js";
import type { Service } from "./service.js";

export interface RetryDeps {
  readonly service: Service;
  readonly writeKey: string;
  readonly refusals: Refusals;
  /** Whether the SDKs keep their own long waits, and these are waited out. */
  readonly isWhole: boolean;
}

/** What is sent and answered, and how often it has to be tried then. */
interface Row {
  readonly title: string;
  readonly answer: Answer | null;
  /** How many requests get the answer before the service gets one. */
  readonly times: number;
  readonly attempts: number;
  /** The least time before each further attempt, milliseconds. */
  readonly waits: readonly number[];
  /** Whether the last attempt brings the call to the service. */
  readonly arrives: boolean;
  /** Whether the SDK would try on after that, so that its program does not end. */
  readonly goesOn?: boolean;
}

/** An SDK that has stopped trying is given so long to prove it. */
const QUIET_MS = 2_000;
/** A page and a virtual machine take a while to start. */
const FIRST_MS = 60_000;
/** Timers run on another clock than ours, and an SDK counts from an earlier moment. */
const TOLERANCE_MS = 50;

/** What a quick run waits out. */
const SHORT_MS = 2_000;
const ALWAYS = Infinity;

function rowsOf({ attemptsAtRefused, patience }: Sdk, refusals: Refusals, isWhole: boolean): readonly Row[] {
  const accepted = { title: "200", answer: null, times: 0, attempts: 1, waits: [], arrives: true };
  const refused = (["400", "401", "413"] as const).map((title): Row => ({
    title,
    answer: refusals[title],
    times: ALWAYS,
    attempts: attemptsAtRefused,
    waits: [],
    arrives: false,
  }));
  return [accepted, ...refused, ...limitedRows(patience, refusals["429"], isWhole)];
}

function limitedRows(patience: Sdk["patience"], answer: Answer, isWhole: boolean): readonly Row[] {
  const row = { title: "429", answer };
  if (patience.kind === "gives up")
    return [{ ...row, times: ALWAYS, attempts: patience.attempts, waits: [], arrives: false }];
  if (patience.kind === "told") {
    const told = Number(answer.headers["retry-after"]) * 1_000;
    const waits = isWhole ? [told, told] : [told];
    return [{ ...row, times: waits.length, attempts: waits.length + 1, waits, arrives: true }];
  }
  const waits = patience.seconds.map((seconds) => seconds * 1_000).filter((wait) => isWhole || wait <= SHORT_MS);
  const arrives = waits.length > 0;
  return [{ ...row, times: Math.max(waits.length, 1), attempts: waits.length + 1, waits, arrives, goesOn: !arrives }];
}

/** Answers one call of the SDK as the service does, and counts how often it is tried. Says what is not as its row tells. */
export async function checkRetries(sdk: Sdk, program: Program, deps: RetryDeps): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const row of rowsOf(sdk, deps.refusals, deps.isWhole)) {
    const found = await probe(sdk, program, row, deps);
    wrong.push(...found.map((what) => `${row.title}: ${what}`));
  }
  return wrong;
}

async function probe(sdk: Sdk, program: Program, row: Row, deps: RetryDeps): Promise<readonly string[]> {
  const relay = await openRelay(deps.service.url);
  try {
    if (row.answer !== null) relay.refuse(row.answer, row.times);
    // A browser of Segment's is sent to the service by its settings; here it has to go through the relay.
    const direct = { integrations: { "Segment.io": { apiHost: `127.0.0.1:${relay.port}/v1`, protocol: "http" } } };
    const options = {
      ...sdk.hasty,
      ...(deps.isWhole ? {} : sdk.quick),
      ...(sdk.name === "segment-browser" ? direct : {}),
    };
    const client = startClient(program, { url: relay.url, key: deps.writeKey, options });
    const visitor = sdk.language === "browser" ? {} : { anonymousId: "anon-1" };
    const messageId = `${sdk.name}-${row.title}`;
    client.call({ type: "track", event: "Viewed", messageId, properties: {}, ...visitor });
    const report = await settled(client, relay, sdk, row);
    return [...attemptsWrong(relay, row), ...(report === null ? [] : reportWrong(report, row))];
  } finally {
    await relay.close();
  }
}

/** Waits until the SDK has tried as often as it should, and then whether it tries once more. Null: it was not asked. */
async function settled(client: Client, relay: Relay, { language }: Sdk, row: Row): Promise<Report | null> {
  if (language !== "browser" && row.goesOn !== true) return client.finish();
  const isTried = async () => {
    if (relay.attempts.length < row.attempts) throw new Error("not yet");
  };
  const waits = row.waits.reduce((sum, wait) => sum + wait, 0);
  await eventually(isTried, FIRST_MS + 3 * waits).catch(() => {});
  await sleep(QUIET_MS);
  await client.kill();
  return null;
}

function attemptsWrong({ attempts }: Relay, row: Row): readonly string[] {
  const gaps = attempts.slice(1).map(({ at }, index) => Math.round(at - attempts[index]!.at));
  const short = row.waits.filter((wait, index) => (gaps[index] ?? Infinity) < wait - TOLERANCE_MS);
  const isCount = attempts.length === row.attempts;
  const statuses = attempts.map(({ status }) => status).join(" ");
  return [
    ...(isCount ? [] : [`${attempts.length} attempts (${statuses}) instead of ${row.attempts}`]),
    ...(short.length === 0 ? [] : [`it waited ${gaps.join(", ")} ms instead of ${row.waits.join(", ")} ms`]),
    ...(!row.arrives || attempts.at(-1)?.status === 200 ? [] : [`the last answer was ${attempts.at(-1)?.status}`]),
  ];
}

function reportWrong({ delivered, gaveUp }: Report, { arrives }: Row): readonly string[] {
  const isAsWanted = delivered === (arrives ? 1 : 0) && gaveUp?.length === (arrives ? 0 : 1);
  return isAsWanted ? [] : [`the SDK says delivered ${delivered}, gave up ${gaveUp?.length}`];
}
