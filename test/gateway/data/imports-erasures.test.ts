import assert from "node:assert/strict";
import { newId } from "../../../core/ids.js";
import { EMBEDDED } from "../../support/servers/servers.js";
import {
  at,
  errorPaths,
  listAt,
  SIGNUP_SCHEMA,
  startApp,
  textAt,
  until,
  useApp,
  type Answer,
  type App,
  type TestWorkspace,
} from "../../support/service/app.js";
import { exportOf, identifier, KINDS, sendAll, sendLines } from "../../support/service/imports.js";
import { collectNow, timeOfIds } from "../../support/service/time.js";

const now = timeOfIds;

describe("An import of erasures", () => {
  const target = useApp({}, { now });
  let source: App;
  const ADA = identifier("email", "ada@example.com");
  const BOB = identifier("email", "bob@example.com");
  before(async () => {
    source = await startApp(EMBEDDED, { now });
  });
  after(() => source.close());

  /** Ada and Bob, and an event in no profile, which names somebody who is in none. */
  const aShop = async () => {
    const from = await source.workspace();
    const schemaId = await from.schema({ ...SIGNUP_SCHEMA, required: [] });
    const quiet = await from.schema(SIGNUP_SCHEMA, false);
    const events: string[] = [];
    for (const [id, email] of [
      [schemaId, ADA.value],
      [schemaId, BOB.value],
      [quiet, "unseen@example.com"],
    ] as const) {
      events.push(textAt((await collectNow(from, id, { email, city: "Oslo" })).body, "event_id"));
      await from.settled(events.at(-1)!, id === quiet ? "stored" : "folded");
    }
    const lines = new Map<string, readonly string[]>();
    for (const kind of KINDS) lines.set(kind, await exportOf(from, kind));
    const profile = lines.get("profiles")!.find((line) => line.includes(ADA.value))!;
    return { schemaId, events, lines, uid: textAt(JSON.parse(profile), "identifiers.0.uid") };
  };
  const importAll = async (into: TestWorkspace, { lines }: Awaited<ReturnType<typeof aShop>>): Promise<void> => {
    for (const kind of KINDS) await sendAll(into, lines.get(kind)!, 40);
  };
  const erasureLine = (changed: object) => ({
    type: "erasure",
    erasure_id: newId(),
    erased_at: new Date(now()).toISOString(),
    key_id: "k-of-the-source",
    profile_id: null,
    suppress: false,
    readmitted_at: null,
    counts: { email: 2 },
    identifiers: [],
    ...changed,
  });
  const send = async (into: TestWorkspace, line: object): Promise<void> => {
    const { status, text } = await sendLines(into, [JSON.stringify(line)]);
    assert.equal(status, 200, text);
  };
  const completed = (into: TestWorkspace, erasureId: string) =>
    until(
      () => into.send("GET", `/v1/erasures/${erasureId}`),
      ({ body }) => body["status"] === "completed",
    );
  const isKnown = async (into: TestWorkspace, who: object): Promise<boolean> =>
    listAt((await into.send("POST", "/v1/profiles/lookup", { identifiers: [who] })).body, "profiles").length > 0;

  const isAllDone = (body: Answer["body"]): boolean =>
    listAt(body, "erasures").every((one) => at(one, "status") === "completed");
  const removedIn = (body: Answer["body"]): number =>
    listAt(body, "erasures").reduce((sum: number, one) => sum + Number(at(one, "removed.events")), 0);

  it("takes out whom an import had brought before, whichever part of the erasure comes last", async () => {
    const shop = await aShop();
    const into = await target().workspace();
    assert.equal((await into.send("POST", "/v1/imports")).status, 200);
    await importAll(into, shop);
    assert.ok(await isKnown(into, ADA));
    const first = erasureLine({ identifiers: [{ ...ADA, uid: shop.uid }] });
    await send(into, first);
    assert.ok(!(await isKnown(into, ADA)));
    await completed(into, first.erasure_id);
    await send(into, { ...first, identifiers: [{ ...identifier("email", "unseen@example.com"), uid: null }] });
    // A read hides the event at once: whether it is deleted, the receipts say. Hers, of whom was in a profile, may be another one.
    const receipts = await until(
      () => into.send("GET", "/v1/erasures"),
      ({ body }) => isAllDone(body) && removedIn(body) === 2,
    );
    assert.equal(removedIn(receipts.body), 2, receipts.text);
    // As after a break.
    await send(into, first);
    await importAll(into, shop);
    const statuses: unknown[] = [];
    for (const id of shop.events) statuses.push((await into.send("GET", `/v1/events/${id}`)).body["status"]);
    assert.deepEqual(statuses, ["dropped", "folded", "dropped"]);
    assert.deepEqual([await isKnown(into, ADA), await isKnown(into, BOB)], [false, true]);
    const { body } = await completed(into, first.erasure_id);
    assert.deepEqual(
      ["erased_at", "key_id", "profile_id", "identifiers", "suppress"].map((name) => at(body, name)),
      [first.erased_at, first.key_id, null, first.counts, false],
    );
  });

  it("suppresses as the old installation did, until somebody readmitted there", async () => {
    const { schemaId, uid, lines } = await aShop();
    for (const isReadmitted of [false, true]) {
      const into = await target().workspace();
      assert.equal((await into.send("POST", "/v1/imports")).status, 200);
      const line = erasureLine({ suppress: true, identifiers: [{ ...ADA, uid }] });
      const last = { ...line, readmitted_at: isReadmitted ? new Date(now() + 1).toISOString() : null };
      for (const one of [line, last]) await send(into, one);
      for (const kind of ["catalog"]) await sendAll(into, lines.get(kind)!, 40);
      assert.equal((await into.send("DELETE", "/v1/imports")).status, 204);
      const { body } = await collectNow(into, schemaId, { email: ADA.value, city: "Rome" });
      const status = isReadmitted ? "folded" : "dropped";
      assert.equal((await into.settled(body["event_id"], status)).body["status"], status);
      assert.equal(await isKnown(into, ADA), isReadmitted);
    }
  });

  it("takes out also whom another import brings in meanwhile, and nobody else of their profile", async () => {
    const from = await source.workspace();
    const schemaId = await from.schema({ ...SIGNUP_SCHEMA, required: [] });
    const cookie = identifier("cookie_id", "c-1");
    const { body } = await collectNow(from, schemaId, { email: ADA.value, cookie: cookie.value });
    await from.settled(body["event_id"], "folded");
    const lines: string[] = [];
    for (const kind of KINDS) lines.push(...(await exportOf(from, kind)));
    const profile = JSON.parse(lines.find((line) => line.includes(`"type":"profile"`))!) as unknown;
    const uidOf = (value: string): string =>
      textAt(
        listAt(profile, "identifiers").find((one) => at(one, "value") === value),
        "uid",
      );
    for (const erased of [[ADA], [ADA, cookie]]) {
      const app = await startApp({}, { now });
      try {
        const into = await app.workspace();
        assert.equal((await into.send("POST", "/v1/imports")).status, 200);
        const { graph } = app.service.backends;
        const livingUids = graph.livingUids.bind(graph);
        let isFirst = true;
        // The first look at who lives sees nobody, the next one all of them.
        Object.assign(graph, {
          livingUids: async (...asked: Parameters<typeof livingUids>) => {
            const living = await livingUids(...asked);
            const wasFirst = isFirst;
            isFirst = false;
            if (wasFirst) await sendAll(into, lines, 40);
            return living;
          },
        });
        const named = erased.map((one) => ({ ...one, uid: uidOf(one.value) }));
        await send(into, erasureLine({ identifiers: named }));
        assert.ok(!isFirst);
        assert.deepEqual([await isKnown(into, ADA), await isKnown(into, cookie)], [false, erased.length === 1]);
      } finally {
        await app.close();
      }
    }
  });

  it("refuses the id of an erasure of another workspace, and takes nobody out then", async () => {
    const there = await target().workspace();
    const erased = await there.send("POST", "/v1/erasures", { identifiers: [ADA] });
    const { uid, lines } = await aShop();
    const into = await target().workspace();
    assert.equal((await into.send("POST", "/v1/imports")).status, 200);
    await sendAll(into, lines.get("profiles")!, 40);
    const line = erasureLine({ erasure_id: textAt(erased.body, "erasure_id"), identifiers: [{ ...ADA, uid }] });
    const answer = await sendLines(into, [JSON.stringify(line)]);
    assert.equal(answer.status, 409, answer.text);
    assert.ok(await isKnown(into, ADA));
  });

  it("is refused where no import is open, and where a line is wrong", async () => {
    const into = await target().workspace();
    const line = erasureLine({ identifiers: [{ ...ADA, uid: null }] });
    assert.equal((await sendLines(into, [JSON.stringify(line)])).status, 409);
    assert.equal((await into.send("POST", "/v1/imports")).status, 200);
    for (const [changed, where] of [
      [{ identifiers: [] }, "lines.0.identifiers"],
      [{ identifiers: [{ namespace: "a:b", value: "c", uid: null }] }, "lines.0.identifiers.0.namespace"],
      [{ erased_at: "yesterday" }, "lines.0.erased_at"],
      [{ erased_at: "2026-13-45T99:99:99.000Z" }, "lines.0.erased_at"],
      [{ erased_at: "2026-02-01T24:00:00.000Z" }, "lines.0.erased_at"],
      [{ erased_at: new Date(now() + 120_000).toISOString() }, "lines.0.erased_at"],
    ] as const) {
      const refused = await sendLines(into, [JSON.stringify({ ...line, ...changed })]);
      assert.deepEqual([refused.status, errorPaths(refused)], [422, [where]]);
    }
    assert.deepEqual(listAt((await into.send("GET", "/v1/erasures")).body, "erasures"), []);
    // The clock of the old installation may be a little ahead.
    await send(into, { ...line, erased_at: new Date(now() + 30_000).toISOString() });
  });
});
