import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { onym } from "../support/cli.js";

const refs = (many: number) => Array.from({ length: many }, (_, n) => ({ profile_id: `p${n}`, size: 1 }));

describe("onym undo", () => {
  it("says of a preview whose lists end how many profiles there are more", async () => {
    const preview = {
      outcome: "unlinked",
      profile_ids: ["p0", "p1"],
      change_id: null,
      dry_run: true,
      before: refs(1),
      after: refs(2),
      profiles_before: 1,
      profiles_after: 3_001,
    };
    const server = http.createServer((_, response) => response.end(JSON.stringify(preview)));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const { out } = await onym(["undo", "device_id:kiosk", "--dry-run"], { url, key: "onym_AbCdEfGhIj_any" });
      assert.match(out, /^profiles before \(identifiers\): p0 \(1\)$/m);
      assert.match(out, /^profiles after \(identifiers\): p0 \(1\), p1 \(1\), and 2,999 more$/m);
    } finally {
      server.close();
    }
  });
});
