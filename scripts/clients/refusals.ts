import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { eventually } from "../shared/async.js";
import type { Answer } from "../shared/client.js";
import type { Service } from "./service.js";

/** What the service says when it does not take the calls; a request with calls was sent for each and refused. */
export type Refusals = Readonly<Record<"400" | "401" | "413" | "429", Answer>>;

/** More than the body of a batch may have. */
const TOO_LARGE = 5 * 1_024 * 1_024;
/** Bodies that a sender begins without a key in the head, and does not end: together all that its address may have in flight. */
const HELD = { bodies: 4, length: 400_000, sent: 300_000 };
const HELD_MS = 5_000;

export async function provokeRefusals({ client, url }: Service, writeKey: string): Promise<Refusals> {
  const send = (key: string | null, body: string): Promise<Answer> => {
    const authorization = key === null ? {} : { Authorization: `Basic ${Buffer.from(`${key}:`).toString("base64")}` };
    // As a page of another origin sends it: what a browser may read is among the headers.
    const headers = { ...authorization, Origin: "http://localhost" };
    return client.send({ method: "POST", path: "/v1/batch", body, headers });
  };
  const refused = async (status: number, asked: Promise<Answer>): Promise<Answer> => {
    const answer = await asked;
    if (answer.status === status) return answer;
    throw new Error(`${answer.status} instead of ${status}: ${answer.text}`);
  };
  const limited = async (): Promise<Answer> => {
    const answer = await refused(429, send(null, `{"batch":["${"x".repeat(HELD.sent)}"]}`));
    if (Number(answer.headers["retry-after"]) > 0) return answer;
    throw new Error(`429 with Retry-After: ${answer.headers["retry-after"]}`);
  };
  const held = await holdBodies(url);
  try {
    return {
      "400": await refused(400, send(writeKey, "{")),
      "401": await refused(401, send(`${writeKey}x`, `{"batch":[]}`)),
      "413": await refused(413, send(writeKey, `{"batch":["${"x".repeat(TOO_LARGE)}"]}`)),
      "429": await eventually(limited, HELD_MS),
    };
  } finally {
    for (const socket of held) socket.destroy();
  }
}

async function holdBodies(url: string): Promise<readonly Socket[]> {
  const { hostname, port, host } = new URL(url);
  return Promise.all(
    Array.from({ length: HELD.bodies }, async () => {
      const socket = connect(Number(port), hostname);
      socket.on("error", () => {});
      await once(socket, "connect");
      socket.write(`POST /v1/batch HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${HELD.length}\r\n\r\n`);
      socket.write(" ".repeat(HELD.sent));
      return socket;
    }),
  );
}
