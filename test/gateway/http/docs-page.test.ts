import assert from "node:assert/strict";
import { useApp } from "../../support/service/app.js";

describe("GET /docs", () => {
  const app = useApp();

  it("answers a page that may run its own files and nothing else", async () => {
    const { status, headers, text } = await app().send("GET", "/docs");
    assert.deepEqual(
      [status, headers["content-type"], headers["cache-control"]],
      [200, "text/html; charset=utf-8", "no-store"],
    );
    const policy = String(headers["content-security-policy"]);
    assert.match(policy, /^default-src 'none';/);
    assert.match(policy, /script-src 'self'(;|$)/);
    assert.doesNotMatch(policy, /unsafe|\*|https?:/);
    assert.equal(headers["x-content-type-options"], "nosniff");
    for (const [, address] of text.matchAll(/(?:src|href)="([^"]+)"/g)) assert.match(address!, /^(docs\/|data:,$)/);
  });

  it("serves the files of the page with their types, to be kept where their address names the version", async () => {
    const { text } = await app().send("GET", "/docs");
    const files = [...text.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, address]) => `/${address}`);
    const got = await Promise.all(files.map((file) => app().send("GET", file)));
    const kept = "public, max-age=31536000, immutable";
    assert.deepEqual(
      got.map(({ status, headers }) => [status, headers["content-type"], headers["cache-control"]]),
      [
        [200, "text/css; charset=utf-8", kept],
        [200, "text/javascript; charset=utf-8", kept],
        [200, "text/javascript; charset=utf-8", "no-store"],
      ],
    );
    for (const { headers } of got) assert.equal(headers["x-content-type-options"], "nosniff");
  });

  it("serves no other file of the package", async () => {
    const { text } = await app().send("GET", "/docs");
    const folder = `/${/href="(docs\/[^"/]+)\//.exec(text)![1]!}`;
    for (const file of ["index.html", "swagger-ui.js", "swagger-ui-bundle.js.map", "package.json", "..%2fpackage.json"])
      assert.equal((await app().send("GET", `${folder}/${file}`)).status, 404, file);
  });
});
