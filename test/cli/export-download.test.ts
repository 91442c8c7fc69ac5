import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { download } from "../../cli/export/download.js";
import type { Kind } from "../../cli/export/kinds.js";
import { useFolder } from "../support/cli.js";

const line = (n: number): string => `${JSON.stringify({ type: "link", position: `p${n}`, n })}\n`;
const end = (lines: number): string => `${JSON.stringify({ type: "end", complete: true, lines })}\n`;

describe("What onym export loads", () => {
  const folder = useFolder();
  let answer: (after: string | null, response: http.ServerResponse) => void;
  let asked: (string | null)[];
  const server = http.createServer((request, response) => {
    const after = new URL(request.url!, "http://a").searchParams.get("after");
    asked.push(after);
    answer(after, response);
  });
  before((done) => void server.listen(0, "127.0.0.1", done));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    asked = [];
  });
  const load = (file: string, kind: Kind = "links", retryMs = 20_000) => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return download({ url, key: "k" }, kind, file, { retryMs, took: () => {} });
  };

  it("has no empty lines; a file that has some, because others loaded it, is not begun anew", async () => {
    answer = (after, response) => response.end(after === null ? `${line(1)}\n\n${line(2)}\n${end(2)}` : "");
    const file = folder.file("links.ndjson", "");
    assert.deepEqual(await load(file), { lines: 2, damaged: 0, position: "p2", isComplete: true });
    assert.equal(readFileSync(file, "utf8"), line(1) + line(2) + end(2));
    const others = folder.file("others.ndjson", `${line(1)}\n\r\n${line(2)}\n`);
    answer = (_, response) => response.end(line(3) + end(1));
    await load(others);
    assert.deepEqual(asked, [null, "p2"]);
    assert.equal(readFileSync(others, "utf8"), `${line(1)}\n\r\n${line(2)}\n${line(3)}${end(3)}`);
  });

  it("goes on in place of a last line that says that there is more: an import would take nothing behind it", async () => {
    const stopped = `${JSON.stringify({ type: "end", complete: false, lines: 1, reason: "shutting_down" })}\n`;
    answer = (_, response) => response.end(line(2) + end(1));
    for (const behind of ["", line(7) + end(1)]) {
      const file = folder.file("stopped.ndjson", line(1) + stopped + behind);
      assert.equal((await load(file)).lines, 2);
      assert.equal(readFileSync(file, "utf8"), line(1) + line(2) + end(2));
    }
    assert.deepEqual(asked, ["p1", "p1"]);
  });

  it("goes on behind the last whole line where an answer ends in the middle of one, as if in order", async () => {
    const file = folder.file("cut.ndjson", "");
    answer = (after, response) => {
      // As a proxy closes it that knows no length: the client sees no failure.
      if (after === "p2") response.end(line(3) + end(1));
      else response.socket!.end(`HTTP/1.0 200 OK\r\n\r\n${line(1)}${line(2)}${line(3).slice(0, 20)}`);
    };
    assert.deepEqual(await load(file), { lines: 3, damaged: 0, position: "p3", isComplete: true });
    assert.deepEqual(asked, [null, "p2"]);
    assert.equal(readFileSync(file, "utf8"), line(1) + line(2) + line(3) + end(3));
  });

  /** Once the client has the line. */
  const breakBehind = (n: number, response: http.ServerResponse): void => {
    response.write(line(n));
    setTimeout(() => response.destroy(), 100);
  };

  for (const kind of ["catalog", "links"] as const)
    it(`is given up where each answer breaks off at the same place: ${kind}`, async () => {
      const file = folder.file(`${kind}.ndjson`, "");
      // The catalog begins anew; of links those of one change have one position.
      answer = (_, response) => {
        if (asked.length === 40) response.end(line(1) + end(1));
        else breakBehind(1, response);
      };
      await assert.rejects(load(file, kind, 500), /broke off/);
    });

  it("is loaded to its end where each answer comes one line further, however often it breaks off", async () => {
    const file = folder.file("often.ndjson", "");
    const count = 6;
    answer = (after, response) => {
      const next = Number(after?.slice(1) ?? 0) + 1;
      if (next > count) response.end(end(0));
      else breakBehind(next, response);
    };
    assert.equal((await load(file, "links", 500)).lines, count);
  });
});
