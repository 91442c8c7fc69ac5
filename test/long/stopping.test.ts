import assert from "node:assert/strict";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { headerOf, openRaw, statusOf } from "../support/service/raw.js";
import { ownerKeyOf, run, type Program } from "../support/service/process.js";
import { send } from "../support/service/app.js";
import { withApp, withFolder } from "../support/faults.js";

/** How clients send: so many requests at a time, on a connection that they keep or on a new one each time. */
const CLIENTS = [
  { count: 40, together: 1, keeps: true },
  { count: 20, together: 6, keeps: true },
  { count: 20, together: 1, keeps: false },
] as const;

interface Tally {
  answered: number;
  /** Requests that were sent whole, before the service ended the connection, and not answered. */
  readonly unanswered: string[];
}

/** One connection until the service ends it, or until its answers are there if it is not kept. Answers whether it may connect again. */
function converse(url: string, request: string, client: (typeof CLIENTS)[number], tally: Tally): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let text = "";
    let waiting = 0;
    let error = "";
    const more = (): void => {
      waiting += client.together;
      socket.write(request.repeat(client.together));
    };
    socket.on("connect", more);
    socket.on("error", (cause: NodeJS.ErrnoException) => (error = cause.code ?? "unknown"));
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      const answers = text.split("HTTP/1.1 ").length - 1;
      if (answers < waiting) return;
      tally.answered += answers;
      [text, waiting] = ["", 0];
      if (!client.keeps) socket.destroy();
      else if (!/^connection: close\r$/im.test(chunk.toString("latin1"))) more();
    });
    socket.on("close", () => {
      if (error === "ECONNREFUSED") return resolve(false);
      if (waiting > 0 || error !== "") tally.unanswered.push(`${error} ${waiting} ${text.slice(-200)}`);
      resolve(!client.keeps);
    });
  });
}

describe("SIGTERM while clients of every kind send", () => {
  it("answers every request that was read, on each connection with Connection: close last, and resets none", async () => {
    await withFolder(async (folder) => {
      const program = run({ DATA_DIR: folder, LOG_LEVEL: "info" });
      const url = (await program.listening())!;
      const key = ownerKeyOf(program);
      const properties = { email: { type: "string", "x-identity": { namespace: "email" } } };
      await send(url, "POST", "/v1/schemas", { key, body: { schema_id: "s", schema: { properties } } });
      await send(url, "POST", "/v1/datasets", { key, body: { name: "d", schema_id: "s", unified_profile: true } });
      const body = '{"schema_id":"s","timestamp":"2026-01-01T00:00:00Z","payload":{"email":"ada@example.com"}}';
      const head = ["Host: x", `Authorization: Bearer ${key}`, "Content-Type: application/json"];
      const request = ["POST /v1/collect HTTP/1.1", ...head, `Content-Length: ${body.length}`, "", body].join("\r\n");
      const tally: Tally = { answered: 0, unanswered: [] };
      const clients = CLIENTS.flatMap((client) =>
        Array.from({ length: client.count }, async () => {
          while (await converse(url, request, client, tally));
        }),
      );
      while (tally.answered < 500) await sleep(5);
      program.signal("SIGTERM");
      assert.equal(await program.exited(), 0, program.stderr());
      await Promise.all(clients);
      assert.deepEqual(tally.unanswered, []);
      // They are expected, and each would be a line that wakes somebody up.
      const log = program.stderr();
      assert.equal(log.split("requests are refused: this process is shutting down").length - 1, 1, log);
      assert.doesNotMatch(log, /"level":50|request failed/);
    });
  });

  it("answers 503 at the end of DRAIN_MS to a request that is not done by then", async () => {
    let ask = (): void => {};
    const asked = new Promise<void>((resolve) => (ask = resolve));
    const never = new Promise<never>(() => {});
    await withApp(
      { DRAIN_MS: "300" },
      {
        wrap: (backends) => ({
          ...backends,
          profiles: { ...backends.profiles, findSome: () => (ask(), never) },
        }),
      },
      async (app) => {
        const workspace = await app.workspace();
        const identifiers = [{ namespace: "email", value: "ada@example.com" }];
        await workspace.send("POST", "/v1/identify", { identifiers });
        const raw = await openRaw(app.url);
        const body = JSON.stringify({ identifiers });
        const head = [
          "Host: x",
          `Authorization: Bearer ${await workspace.key("owner")}`,
          "Content-Type: application/json",
        ];
        const lines = ["POST /v1/profiles/lookup HTTP/1.1", ...head, `Content-Length: ${body.length}`, "", body];
        raw.write(lines.join("\r\n"));
        await asked;
        const closed = app.service.close();
        const answer = await raw.ended();
        assert.deepEqual([statusOf(answer), headerOf(answer, "connection")], [503, "close"], answer);
        raw.close();
        await closed;
      },
    );
  });
});

describe("Ctrl-C", () => {
  /** A request of which the service has read half. */
  const halfSent = async (program: Program) => {
    const raw = await openRaw((await program.listening())!);
    const [first, second] = ['{"schema_id":"s"', "}"];
    const head = [
      "Host: x",
      `Authorization: Bearer ${ownerKeyOf(program)}`,
      "Content-Type: application/json",
      `Content-Length: ${first.length + second.length}`,
    ];
    raw.write(["POST /v1/collect HTTP/1.1", ...head, "", first].join("\r\n"));
    await sleep(200);
    return { raw, sendRest: () => raw.write(second) };
  };

  it("drains the service also when the signal comes twice, as below `npm start`: from the terminal, and once more from npm", async () => {
    await withFolder(async (folder) => {
      const program = run({ DATA_DIR: folder });
      const { raw, sendRest } = await halfSent(program);
      program.signal("SIGINT");
      // Without a pause the operating system can make one of them.
      await sleep(20);
      program.signal("SIGINT");
      await sleep(200);
      sendRest();
      assert.match(await raw.ended(), /^HTTP\/1\.1 \d{3} /, program.stderr());
      raw.close();
      assert.equal(await program.exited(), 0, program.stderr());
    });
  });

  it("ends the service at once when somebody presses it again later", async () => {
    await withFolder(async (folder) => {
      const program = run({ DATA_DIR: folder, DRAIN_MS: "12000" });
      const { raw } = await halfSent(program);
      program.signal("SIGINT");
      await sleep(1_400);
      program.signal("SIGINT");
      assert.equal(await program.exited(), 1, program.stderr());
      raw.close();
    });
  });
});
