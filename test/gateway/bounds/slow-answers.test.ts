import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { aroundGraph } from "../../support/around-graph.js";
import { eventually } from "../../support/eventually.js";
import { textAt, useApp, type TestWorkspace } from "../../support/service/app.js";

describe("While an answer takes seconds to make", () => {
  let release = (): void => {};
  let released = Promise.resolve();
  let held = 0;
  const hold = (): void => {
    held = 0;
    released = new Promise((resolve) => (release = resolve));
  };
  const holding = async <T>(read: () => Promise<T>): Promise<T> => {
    held += 1;
    await released;
    return read();
  };
  const app = useApp({}, { wrap: aroundGraph(["walk", "links"], holding) });
  let workspace: TestWorkspace;
  let profileId: string;
  let rule: object;
  const [email, user] = [
    { namespace: "email", value: "ada@example.com" },
    { namespace: "user_id", value: "u-1" },
  ];
  beforeEach(async () => {
    workspace = await app().workspace();
    const made = await workspace.send("POST", "/v1/identify", { identifiers: [email, user] });
    profileId = textAt(made.body, "profile_id");
    rule = { $events: { schema_id: await workspace.schema() } };
  });
  afterEach(() => release());

  for (const [name, times, ask] of [
    ["a preview", 4, () => workspace.send("POST", "/v1/audiences/preview", { rule, sample: 20 })],
    ["an explanation", 1, () => workspace.send("POST", "/v1/identity/explain", { from: email, to: user })],
    ["an outline", 1, () => workspace.send("POST", `/v1/profiles/${profileId}/outline`)],
  ] as const)
    it(`the other reads of the workspace are answered: ${name}`, async () => {
      hold();
      const answering = Array.from({ length: times }, () => ask());
      await eventually("all are being made", () => held >= times);
      for (const target of ["/v1/events", "/v1/schemas", "/v1/dead-letters"]) {
        const { status, text } = await workspace.send("GET", target);
        assert.equal(status, 200, `${target}: ${text}`);
      }
      release();
      for (const { status, text } of await Promise.all(answering)) assert.equal(status, 200, text);
    });

  it("only a few outlines of a workspace hold memory: the reads of all workspaces are answered", async () => {
    const all = await Promise.all([1, 2, 3, 4].map(() => app().workspace()));
    const targets = await Promise.all(
      all.map(async (one) => {
        const { body } = await one.send("POST", "/v1/identify", { identifiers: [email, user] });
        return `/v1/profiles/${textAt(body, "profile_id")}/outline`;
      }),
    );
    hold();
    const answering = all.flatMap((one, n) => Array.from({ length: 16 }, () => one.send("POST", targets[n]!)));
    await eventually("they are being made", () => held >= all.length);
    await sleep(300);
    for (const one of [workspace, ...all]) {
      const { status, text } = await one.send("GET", "/v1/events");
      assert.equal(status, 200, text);
    }
    release();
    for (const { status, text } of await Promise.all(answering)) assert.equal(status, 200, text);
  }).timeout(30_000);
});
