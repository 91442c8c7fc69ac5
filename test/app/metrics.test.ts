import assert from "node:assert/strict";
import { startApp, useApp, type App } from "../support/service/app.js";

const read = async (app: App, key?: string): Promise<{ readonly status: number; readonly text: string }> => {
  const headers = key === undefined ? {} : { Authorization: `Bearer ${key}` };
  const answer = await fetch(`${app.url}/metrics`, { headers });
  return { status: answer.status, text: await answer.text() };
};

describe("GET /metrics", () => {
  const METRICS_KEY = "a-key-that-reads-the-metrics";
  const running = useApp({});

  it("is open on loopback, and says what part answers", async () => {
    const { status, text } = await read(running());
    assert.equal(status, 200);
    assert.match(text, /^onym_dependency_up\{part="queue"\} 1$/m);
    assert.match(text, /^onym_build_info\{version="\d+\.\d+\.\d+",node="v\d+.*"\} 1$/m);
  });

  it("counts an answer by its route's path, and everything that is no route as one", async () => {
    const app = running();
    await app.send("GET", "/healthz");
    for (const path of ["/nothing", "/v1/nowhere", "/v1/collect"]) await app.send("GET", path);
    const { text } = await read(app);
    assert.match(text, /^onym_http_requests_total\{route="\/healthz",method="GET",status="200"\} 1$/m);
    assert.match(text, /^onym_http_requests_total\{route="other",method="other",status="404"\} 2$/m);
    assert.doesNotMatch(text, /nowhere/);
  });

  it("needs the key where one is set, and no other key will do", async () => {
    const app = await startApp({ METRICS_KEY });
    try {
      assert.equal((await read(app)).status, 401);
      assert.equal((await read(app, await (await app.workspace()).key("owner"))).status, 401);
      assert.equal((await read(app, METRICS_KEY)).status, 200);
    } finally {
      await app.close();
    }
  });

  it("does not exist without a key where others than this machine can ask", async () => {
    for (const settings of [{ HOST: "0.0.0.0" }, { TRUST_PROXY: "1" }]) {
      const app = await startApp(settings);
      try {
        assert.equal((await read(app)).status, 404);
      } finally {
        await app.close();
      }
    }
  });
});
