import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { WorkspaceId } from "../../core/ids.js";
import { anEvent } from "../support/builders.js";
import { SCALE, tell } from "../support/random/random.js";
import { startApp, useApp, type App } from "../support/service/app.js";
import { held } from "../support/service/held.js";

const MIB = 1_048_576;
const PAYLOAD_BYTES = 50_000;
const EVENTS = 400 * SCALE;
/** What streams and the driver may hold at a time; far less than what the answer has. */
const MORE_MAX = 24 * MIB;

/** A workspace with so many events, and what an export of them is asked with. */
async function filled(app: App) {
  const workspace = await app.workspace();
  const id = workspace.id as WorkspaceId;
  const payload = Buffer.from(JSON.stringify({ filler: "x".repeat(PAYLOAD_BYTES) }));
  for (let n = 0; n < EVENTS; n += 20)
    await app.service.backends.events.insert(
      id,
      Array.from({ length: 20 }, () => anEvent({ workspace: id, payload })),
    );
  return { Authorization: `Bearer ${await workspace.key("admin")}`, "Accept-Encoding": "identity" };
}

async function begin(app: App, headers: http.OutgoingHttpHeaders): Promise<http.IncomingMessage> {
  const request = http.get(`${app.url}/v1/exports/events`, { headers });
  return ((await once(request, "response")) as [http.IncomingMessage])[0];
}

describe("An export of a large store to a slow reader", () => {
  const app = useApp({});

  it(`keeps the memory of the process where it was, over ${(EVENTS * PAYLOAD_BYTES) / MIB} MiB`, async () => {
    const headers = await filled(app());
    const before = held();
    const response = await begin(app(), headers);
    let [bytes, most, sinceRest] = [0, 0, 0];
    let tail = "";
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      sinceRest += chunk.length;
      tail = (tail + chunk.toString("latin1")).slice(-200);
      if (sinceRest < MIB) continue;
      sinceRest = 0;
      await sleep(5);
      most = Math.max(most, held() - before);
    }
    tell(`${Math.round(bytes / MIB)} MiB read, at most ${Math.round(most / MIB)} MiB more held`);
    assert.ok(tail.endsWith(`{"type":"end","complete":true,"lines":${EVENTS}}\n`), tail);
    assert.ok(bytes > EVENTS * PAYLOAD_BYTES);
    assert.ok(most < MORE_MAX, `${Math.round(most / MIB)} MiB more held`);
  });

  it("ends in order when the service stops: a whole last line says that there is more", async () => {
    const stopping = await startApp();
    const response = await begin(stopping, await filled(stopping));
    let text = "";
    let closing: Promise<void> | null = null;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      text += chunk.toString("latin1");
      closing ??= stopping.close();
    }
    await closing;
    const lines = text.trimEnd().split("\n");
    const end = { type: "end", complete: false, lines: lines.length - 1, reason: "shutting_down" };
    assert.deepEqual(JSON.parse(lines.at(-1)!), end);
    assert.ok(lines.length > 1 && lines.length < EVENTS);
  });
});
