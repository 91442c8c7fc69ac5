import assert from "node:assert/strict";
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Entry } from "../../../core/audience/seat.js";
import { newId, type AudienceId, type ProfileId, type WorkspaceId } from "../../../core/ids.js";
import { errorPaths, listAt, startApp, textAt, until, useApp, type TestWorkspace } from "../../support/service/app.js";

const SOON_MS = 5_000;
const AT = Date.parse("2026-01-24T09:00:00Z");
const [A, B] = [newId<AudienceId>(), newId<AudienceId>()];
const P = newId<ProfileId>();

const entered = (audienceId: AudienceId, profileId: ProfileId = newId()): Entry => {
  return { type: "entered", at: AT, audienceId, profileId, cause: "changed", into: null };
};

describe("GET /v1/feed", () => {
  // The keeper forgets old ones.
  const app = useApp({ FEED_DAYS: "3650" });
  let workspace: TestWorkspace;
  beforeEach(async () => {
    workspace = await app().workspace();
  });
  const append = (...entries: readonly Entry[]) =>
    app().service.backends.seats.append(workspace.id as WorkspaceId, newId(), entries);
  const read = (query = "") => workspace.as("viewer", "GET", `/v1/feed${query}`);
  const seqs = (answer: Awaited<ReturnType<typeof read>>) =>
    listAt(answer.body, "entries")
      .map((one) => textAt(one, "seq"))
      .join();

  it("answers entries by number, what to read on after, and where the feed ends and begins", async () => {
    const empty = await read();
    assert.deepEqual(empty.body, { entries: [], next: 0, head: 0, oldest: 1 });
    const into = newId<ProfileId>();
    await append(
      entered(A, P),
      { type: "left", at: AT, audienceId: A, profileId: P, cause: "merged", into },
      { type: "audience_deleted", at: AT, audienceId: A },
      { type: "profile_erased", at: AT, profileId: P },
    );
    const at = "2026-01-24T09:00:00.000Z";
    assert.deepEqual((await read()).body, {
      entries: [
        { seq: 1, at, type: "entered", audience_id: A, profile_id: P, cause: "changed" },
        { seq: 2, at, type: "left", audience_id: A, profile_id: P, cause: "merged", into },
        { seq: 3, at, type: "audience_deleted", audience_id: A },
        { seq: 4, at, type: "profile_erased", profile_id: P },
      ],
      next: 4,
      head: 4,
      oldest: 1,
    });
    const page = await read("?after=1&limit=2");
    assert.deepEqual([seqs(page), page.body["next"], page.body["head"]], ["2,3", 3, 4]);
    assert.deepEqual(listAt((await read("?after=4")).body, "entries"), []);
  });

  it("tells who entered because of an event, and who left because it changed", async () => {
    const schemaId = await workspace.schema();
    const made = await workspace.send("POST", "/v1/audiences", { name: "l", rule: { "traits.city": "London" } });
    const audienceId = textAt(made.body, "audience_id");
    await workspace.collect(schemaId, { email: "ada@example.com", city: "London" });
    const first = await read("?wait=10");
    const [one] = listAt(first.body, "entries");
    assert.deepEqual([textAt(one, "type"), textAt(one, "audience_id")], ["entered", audienceId]);
    await workspace.collect(schemaId, { email: "ada@example.com", city: "Paris" });
    const second = await read(`?wait=10&after=${String(first.body["next"])}`);
    const [two] = listAt(second.body, "entries");
    assert.deepEqual([textAt(two, "type"), textAt(two, "profile_id")], ["left", textAt(one, "profile_id")]);
  });

  it("with audience_id answers that audience and who was erased, and next passes over the others", async () => {
    await append(entered(B), entered(A), entered(B), { type: "profile_erased", at: AT, profileId: P }, entered(B));
    const all = await read(`?audience_id=${A}`);
    assert.deepEqual([seqs(all), all.body["next"]], ["2,4", 5]);
    const none = await read(`?audience_id=${A}&after=4`);
    assert.deepEqual([seqs(none), none.body["next"]], ["", 5]);
    const one = await read(`?audience_id=${A}&limit=1`);
    assert.deepEqual([seqs(one), one.body["next"]], ["2", 2]);
  });

  it("looks through ten thousand entries of others in one answer, and lets the client read on", async () => {
    await append(...Array.from({ length: 10_500 }, () => entered(B)), entered(A));
    const first = await read(`?audience_id=${A}&wait=10`);
    assert.deepEqual([seqs(first), first.body["next"], first.body["head"]], ["", 10_000, 10_501]);
    assert.equal(seqs(await read(`?audience_id=${A}&after=10000`)), "10501");
  });

  it("waits until there is an entry that is wanted", async () => {
    let isAnswered = false;
    const answering = read(`?audience_id=${A}&wait=25`).then((answer) => {
      isAnswered = true;
      return answer;
    });
    await append(entered(B));
    await sleep(600);
    assert.ok(!isAnswered);
    await append(entered(A));
    const answer = await answering;
    assert.deepEqual([seqs(answer), answer.body["next"]], ["2", 2]);
  });

  it("beyond its end is 409 unknown_position with head", async () => {
    await append(entered(A));
    const answer = await read("?after=2");
    assert.deepEqual(
      [answer.status, answer.body["code"], errorPaths(answer), answer.body["head"]],
      [409, "unknown_position", ["after"], 1],
    );
    assert.equal((await read("?after=1")).status, 200);
  });

  it("is read on after every number that it may come to, and after none that is not exact", async () => {
    await append(entered(A));
    const codes = async (...numbers: readonly string[]) =>
      Promise.all(numbers.map(async (after) => (await read(`?after=${after}`)).body["code"]));
    assert.deepEqual(await codes("999999999", "1000000000", "9007199254740991"), Array(3).fill("unknown_position"));
    assert.deepEqual(
      await codes("9007199254740992", "9007199254740993", "9999999999999999", "10000000000000000"),
      Array(4).fill("invalid_parameter"),
    );
    assert.equal((await read("?after=000000001")).status, 200);
  });

  it("before what is kept is 410 feed_trimmed with oldest", async () => {
    await append(entered(A));
    await append(entered(A));
    await append({ ...entered(A), at: AT + 10 });
    await app().service.backends.seats.trim(workspace.id as WorkspaceId, AT + 5, 100);
    const answer = await read("?after=1");
    assert.deepEqual(
      [answer.status, answer.body["code"], errorPaths(answer), answer.body["oldest"]],
      [410, "feed_trimmed", ["after"], 3],
    );
    assert.equal(seqs(await read("?after=2")), "3");
  });

  it("names each parameter that is wrong, a wait above 25 and a limit above 1000 among them", async () => {
    for (const [name, ...wrong] of [
      ["wait", "26", "-1", "x"],
      ["limit", "0", "1001", "x"],
      ["after", "-1", "1.5", "x"],
      ["audience_id", "x"],
    ] as const)
      for (const value of wrong) {
        const answer = await read(`?${name}=${value}`);
        assert.deepEqual([answer.status, errorPaths(answer)], [400, [name]], `${name}=${value}`);
      }
  });

  it("stops to read for a client that has gone", async () => {
    const own = await startApp(
      {},
      {
        wrap: (backends) => ({
          ...backends,
          seats: { ...backends.seats, feed: (...given) => ((reads += 1), backends.seats.feed(...given)) },
        }),
      },
    );
    let reads = 0;
    try {
      const other = await own.workspace();
      const headers = { Authorization: `Bearer ${await other.key("viewer")}` };
      const request = http.get(`${own.url}/v1/feed?wait=25`, { headers });
      request.on("error", () => {});
      const isReading = async () => ({ status: reads, headers: {}, text: "", body: {} });
      await until(isReading, () => reads > 1);
      request.destroy();
      await sleep(1_000);
      const before = reads;
      await sleep(1_000);
      assert.equal(reads, before);
    } finally {
      await own.close();
    }
  });

  it("answers at once when the process drains", async () => {
    const draining = await startApp();
    const other = await draining.workspace();
    const begunAt = performance.now();
    const waiting = other.send("GET", "/v1/feed?wait=25");
    await sleep(300);
    const closing = draining.service.close();
    assert.equal((await waiting).status, 200);
    assert.ok(performance.now() - begunAt < SOON_MS);
    await closing;
    await draining.close();
  });
});
