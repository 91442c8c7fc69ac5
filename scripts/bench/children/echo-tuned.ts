/** The yardstick: the least that Express can do for a small POST. It reads, parses and answers a constant 202. */
import http from "node:http";
import type { AddressInfo } from "node:net";
import express, { type Request, type Response } from "express";
import { graftExpress } from "../../../gateway/http/fast-express.js";
import { serve } from "./serve.js";

const ANSWER = '{"event_id":"00000000-0000-7000-8000-000000000000","status":"accepted"}';
const HEADERS = { "Content-Type": "application/json; charset=utf-8", "Content-Length": ANSWER.length };

function echo(request: Request, response: Response): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    JSON.parse(body.toString("utf8"));
    response.writeHead(202, HEADERS);
    response.end(ANSWER);
  });
}

const app = express();
app.disable("x-powered-by");
app.set("etag", false);
app.set("query parser", "simple");
const router = express.Router({ caseSensitive: true, strict: true });
router.post("/v1/collect", echo);
app.use(router);

const server = http.createServer({ ...graftExpress(app), keepAliveTimeout: 65_000, noDelay: true }, app);
server.listen(0, "127.0.0.1", () => {
  serve({ port: (server.address() as AddressInfo).port }, {}, async () => void server.close());
});
