/** The same echo as most people would write it, for orientation. */
import type { AddressInfo } from "node:net";
import express, { type Request, type Response } from "express";
import { serve } from "./serve.js";

const app = express();
app.use(express.json());
app.post("/v1/collect", (_request: Request, response: Response) => {
  response.status(202).json({ event_id: "00000000-0000-7000-8000-000000000000", status: "accepted" });
});

const server = app.listen(0, "127.0.0.1", () => {
  serve({ port: (server.address() as AddressInfo).port }, {}, async () => void server.close());
});
server.keepAliveTimeout = 65_000;
