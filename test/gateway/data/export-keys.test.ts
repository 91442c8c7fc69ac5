import assert from "node:assert/strict";
import type http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import express from "express";
import { listen } from "../../../app/listen.js";
import type { KeyRecord } from "../../../core/catalog/catalog.js";
import { AppError } from "../../../core/errors.js";
import type { KeyId } from "../../../core/ids.js";
import { beginning } from "../../../gateway/access/context.js";
import { createBytesInFlight } from "../../../gateway/http/bytes-in-flight.js";
import { createServer } from "../../../gateway/http/server.js";
import { createShutdown } from "../../../gateway/http/stopping.js";
import type { Route } from "../../../gateway/route.js";
import { answerLines } from "../../../gateway/stream/answer.js";
import { eventually } from "../../support/eventually.js";
import { aWorkspace } from "../../support/identity/fixtures.js";

const MIB = 1_048_576;

/** What became of its key since it began. */
type Became = Partial<KeyRecord> | "revoked" | "away";

const silent = { info: () => {}, warn: () => {}, error: () => {} };
const key = { keyId: "old", workspace: aWorkspace(), hash: "h", expiresAt: null, successor: null } as KeyRecord;
const rotated = { successor: "new" as KeyId, expiresAt: 9_000 };

describe("An export", () => {
  const servers: http.Server[] = [];
  after(() => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  /** Of parts without end. `until`: of a session. */
  async function begin(
    became: Became,
    { until = null, partBytes = 10 }: { until?: number | null; partBytes?: number } = {},
  ) {
    const told: string[] = [];
    const state = { isOpen: true };
    const deps = {
      bytesInFlight: createBytesInFlight(),
      takeSlot: () => () => {},
      enterTurn: (_: unknown, go: () => void) => go(),
      stopping: createShutdown(),
      traced: null,
      metrics: { exported: (outcome: string) => void told.push(outcome) },
      log: silent,
      now: () => 1_000,
      catalog: {
        findKey: async () => {
          if (became === "away") throw new AppError("unavailable", "away");
          return became === "revoked" ? null : { ...key, ...became };
        },
      },
    };
    async function* parts(): AsyncGenerator<readonly string[]> {
      try {
        for (;;) {
          await sleep(5);
          yield [JSON.stringify("x".repeat(partBytes))];
        }
      } finally {
        state.isOpen = false;
      }
    }
    const answer = answerLines(deps, { handle: async () => ({ parts: parts() }) } as unknown as Route);
    const app = express();
    app.use((request, response, next) => {
      const { workspace, keyId } = key;
      response.locals["context"] = { ...beginning(1_000), workspace, keyId, key, until };
      return answer(request, response, next);
    });
    const limits = { headerBytesMax: 16_384, headersTimeoutMs: 5_000, requestTimeoutMs: 15_000 };
    const server = createServer({ app, ...limits, log: silent });
    servers.push(server);
    const port = await listen(server, "127.0.0.1", 0);
    const headers = { "Accept-Encoding": partBytes > MIB ? "identity" : "gzip" };
    return { told, state, response: await fetch(`http://127.0.0.1:${port}/`, { headers }) };
  }

  for (const [what, became, until] of [
    ["key is revoked", "revoked", null],
    ["key expires", { expiresAt: 500 }, null],
    ["key's id is another key's", { hash: "other" }, null],
    ["session ends", {}, 500],
    ["session's key is rotated", rotated, 9_000],
  ] as const)
    it(`breaks off soon after its ${what}, so that no client takes it for complete`, async () => {
      const { told, state, response } = await begin(became, { until });
      const begun = performance.now();
      await assert.rejects(response.text());
      assert.ok(performance.now() - begun < 4_000, `${performance.now() - begun} ms`);
      await eventually("it is told", () => told.length > 0);
      assert.deepEqual([told, state.isOpen], [["unauthenticated"], false]);
    });

  it("breaks off in the middle of a part too, for whoever takes little at a time", async () => {
    const { told, state } = await begin("revoked", { partBytes: 32 * MIB });
    await eventually("it is told", () => told.length > 0);
    assert.deepEqual([told, state.isOpen], [["unauthenticated"], false]);
  });

  it("goes on while its key is right, or in its grace time, or cannot be looked up", async () => {
    const all = await Promise.all([begin({}, { until: 9_000 }), begin(rotated), begin("away")]);
    await sleep(2_500);
    assert.deepEqual(
      all.map(({ told, state }) => [told, state.isOpen]),
      all.map(() => [[], true]),
    );
  });
});
