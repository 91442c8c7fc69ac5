import assert from "node:assert/strict";
import http from "node:http";
import { Socket } from "node:net";
import type { Request, Response } from "express";
import type { Stopping } from "../../../gateway/http/stopping.js";
import type { Route } from "../../../gateway/route.js";
import { answerEvents } from "../../../gateway/stream/events.js";

describe("Server-sent events", () => {
  it("end with the process while it is asked whether they are over, and nothing is written behind", async () => {
    const request = new http.IncomingMessage(new Socket());
    // Nobody takes what is written, so the answer is not closed at its end.
    const response = Object.assign(new http.ServerResponse(request), { locals: {} });
    const failures: unknown[] = [];
    response.on("error", (error) => failures.push(error));
    const begun = new AbortController();
    let answer = (_isOver: boolean): void => {};
    const asked = new Promise<boolean>((resolve) => (answer = resolve));
    const events = { begin: async () => () => {}, isOver: () => asked };
    const route = { handle: async () => events } as unknown as Route;
    const listen = answerEvents({ stopping: { begun: begun.signal } as Stopping }, route);
    const over = listen(request as Request, response as unknown as Response, () => {});
    await new Promise((resolve) => setImmediate(resolve));
    begun.abort();
    await over;
    answer(false);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([response.writableEnded, failures], [true, []]);
  });
});
