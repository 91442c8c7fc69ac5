import assert from "node:assert/strict";
import http, { type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { eventually } from "../support/eventually.js";
import type { TestWorkspace } from "../support/service/app.js";
import { startTraffic } from "../support/service/traffic.js";

describe("Traffic that measures its answers", () => {
  const held: ServerResponse[] = [];
  const server = http.createServer((request, response) => {
    request.resume();
    held.push(response);
  });
  before(() => new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve)));
  after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it("counts what was sent before a call to the time before it, however late its answer comes", async () => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const workspace = { key: async () => "key" } as unknown as TestWorkspace;
    const traffic = startTraffic({ url, workspace, schemaId: "schema", clients: 1, pauseMs: 0 });
    await eventually("one is sent", () => held.length === 1);
    traffic.slowestMs();
    const stopped = traffic.stop();
    held[0]!.writeHead(202, { "Content-Type": "application/json" }).end('{"event_id":"e"}');
    await stopped;
    assert.equal(traffic.slowestMs(), 0);
  });
});
