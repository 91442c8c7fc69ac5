import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { importRecords, type ImportRecord } from "../../../commands/imports/records.js";
import type { Services } from "../../../commands/services.js";
import { newId, type EventId, type WorkspaceId } from "../../../core/ids.js";
import { readLine } from "../../../gateway/routes/data/read-lines.js";
import { exportOf, identifier, KINDS, sendAll } from "../../support/service/imports.js";
import { timeOfIds } from "../../support/service/time.js";
import { EMBEDDED } from "../../support/servers/servers.js";
import {
  at,
  listAt,
  SIGNUP_SCHEMA,
  startApp,
  textAt,
  until,
  useApp,
  type App,
  type TestWorkspace,
} from "../../support/service/app.js";

const now = timeOfIds;

describe("An import of somebody who was erased here", () => {
  const target = useApp({}, { now });
  let source: App;
  const secret = `canary${randomBytes(8).toString("hex")}`;
  const ADA = identifier("email", `${secret}@example.com`);
  const COOKIE = identifier("cookie_id", "c-ada");
  const BOB = identifier("email", "bob@example.com");
  before(async () => {
    source = await startApp(EMBEDDED, { now });
  });
  after(() => source.close());

  /** Ada, with events that folded, one that never does, a link, one that was taken back and a forbidden pair; and Bob. */
  const aShop = async () => {
    const from = await source.workspace();
    const schemaId = await from.schema({ ...SIGNUP_SCHEMA, required: [] });
    const events: string[] = [];
    for (const payload of [
      { email: ADA.value, cookie: COOKIE.value, city: `${secret}-city` },
      { cookie: COOKIE.value, city: "Oslo" },
      { email: BOB.value, city: "Bergen" },
    ]) {
      events.push(textAt((await from.collect(schemaId, payload)).body, "event_id"));
      await from.settled(events.at(-1)!);
    }
    const quiet = await from.schema(SIGNUP_SCHEMA, false);
    events.push(textAt((await from.collect(quiet, { email: ADA.value, city: secret })).body, "event_id"));
    await from.settled(events.at(-1)!, "stored");
    const user = identifier("user_id", "u-ada");
    await from.send("POST", "/v1/identify", { identifiers: [ADA, user] });
    assert.equal((await from.send("POST", "/v1/identity/unlink", { from: ADA, to: user, forbid: true })).status, 200);
    const { body } = await from.send("POST", "/v1/profiles/lookup", { identifiers: [ADA] });
    const lines = new Map<string, readonly string[]>();
    for (const kind of KINDS) lines.set(kind, await exportOf(from, kind));
    return { profileId: textAt(body, "profiles.0.profile_id"), events, lines };
  };
  const importAll = async (into: TestWorkspace, { lines }: Awaited<ReturnType<typeof aShop>>): Promise<void> => {
    // And once more, as after a break.
    for (let times = 0; times < 2; times++) for (const kind of KINDS) await sendAll(into, lines.get(kind)!, 40);
    await target().service.keeper!.rest();
  };
  const shownOf = async (into: TestWorkspace): Promise<string> => {
    const all: string[] = [];
    for (const kind of ["profiles", "changes", "links", "events"]) all.push(...(await exportOf(into, kind)));
    return all.join("\n");
  };
  const traitsOf = async (into: TestWorkspace, who: object) => {
    const { body } = await into.send("POST", "/v1/profiles/lookup", { identifiers: [who] });
    const profile = listAt(body, "profiles")[0];
    if (profile === undefined) return null;
    const traits = await into.send("GET", `/v1/profiles/${textAt(profile, "profile_id")}`);
    return at(traits.body, "traits.city");
  };
  const statusesOf = (into: TestWorkspace, events: readonly string[]) =>
    Promise.all(events.map(async (id) => (await into.send("GET", `/v1/events/${id}`)).body["status"]));
  const lateOf = (into: TestWorkspace, erasureId: string) =>
    until(
      () => into.send("GET", `/v1/erasures/${erasureId}`),
      ({ body }) => body["status"] === "completed" && at(body, "late.events") === 2,
    );

  for (const suppress of [false, true])
    it(`leaves out the identifier and its events${suppress ? ", suppressed" : ""}, and nobody else`, async () => {
      const shop = await aShop();
      const into = await target().workspace();
      const erased = await into.send("POST", "/v1/erasures", { identifiers: [ADA], suppress });
      assert.equal(erased.status, 202, erased.text);
      assert.equal((await into.send("POST", "/v1/imports")).status, 200);
      await importAll(into, shop);
      assert.equal(await traitsOf(into, ADA), null);
      assert.notEqual(await traitsOf(into, COOKIE), null, "what was not erased here comes in");
      assert.notEqual(await traitsOf(into, BOB), null);
      assert.deepEqual(await statusesOf(into, shop.events), ["dropped", "folded", "folded", "dropped"]);
      assert.ok(!(await shownOf(into)).includes(secret));
      const receipt = await lateOf(into, textAt(erased.body, "erasure_id"));
      assert.equal(at(receipt.body, "late.events"), 2, receipt.text);
    });

  it("leaves apart whom only the erased identifier held together", async () => {
    const from = await source.workspace();
    const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => identifier("cookie_id", name));
    for (const identifiers of [
      [ADA, a],
      [ADA, b],
      [b, c],
      [c, d],
    ])
      await from.send("POST", "/v1/identify", { identifiers });
    const into = await target().workspace();
    await into.send("POST", "/v1/erasures", { identifiers: [ADA] });
    await into.send("POST", "/v1/imports");
    for (let times = 0; times < 2; times++)
      for (const kind of KINDS) await sendAll(into, await exportOf(from, kind), 40);
    const sizes = listAt((await into.send("GET", "/v1/profiles")).body, "profiles").map((one) =>
      at(one, "identifiers"),
    );
    assert.deepEqual(sizes.length, 2, JSON.stringify(sizes));
    for (const [one, other, isOne] of [
      [b, d, true],
      [a, b, false],
    ] as const) {
      const { body } = await into.send("POST", "/v1/profiles/lookup", { identifiers: [one, other] });
      assert.equal(listAt(body, "profiles").length, isOne ? 1 : 2);
    }
  });

  it("takes the parts of a large profile again, and joins none whom only the erased identifier held together", async () => {
    const from = await source.workspace();
    const many = 120;
    for (const [hub, name] of [
      [BOB, "bob"],
      [ADA, "ada"],
    ] as const)
      for (let n = 0; n < many; n++)
        await from.send("POST", "/v1/identify", { identifiers: [hub, identifier("cookie_id", `${name} ${n}`)] });
    const into = await target().workspace();
    await into.send("POST", "/v1/erasures", { identifiers: [ADA] });
    await into.send("POST", "/v1/imports");
    const profiles = await exportOf(from, "profiles");
    assert.ok(profiles.length > 2, "in parts");
    for (let times = 0; times < 2; times++) await sendAll(into, profiles, 1);
    for (const kind of ["changes", "links"]) await sendAll(into, await exportOf(from, kind), 40);
    await sendAll(into, profiles, 1);
    const counted = await into.send("POST", "/v1/profiles/count", {
      rule: { "identifiers.cookie_id": { $exists: true } },
    });
    assert.equal(counted.body["count"], 1 + many, counted.text);
  });

  it("lets in who was first seen there after the erasure, unless they are suppressed", async () => {
    for (const suppress of [false, true]) {
      const into = await target().workspace();
      await into.send("POST", "/v1/erasures", { identifiers: [ADA], suppress });
      const shop = await aShop();
      assert.equal((await into.send("POST", "/v1/imports")).status, 200);
      await importAll(into, shop);
      assert.equal(await traitsOf(into, ADA), suppress ? null : "Oslo");
      assert.equal((await shownOf(into)).includes(secret), !suppress);
    }
  });

  it("leaves out whom the import itself brought, if they were erased before a line came again", async () => {
    const shop = await aShop();
    const into = await target().workspace();
    assert.equal((await into.send("POST", "/v1/imports")).status, 200);
    await importAll(into, shop);
    assert.notEqual(await traitsOf(into, ADA), null);
    const erased = await into.send("DELETE", `/v1/profiles/${shop.profileId}`);
    assert.equal(erased.status, 202, erased.text);
    await until(
      () => into.send("GET", `/v1/erasures/${textAt(erased.body, "erasure_id")}`),
      ({ body }) => body["status"] === "completed",
    );
    await importAll(into, shop);
    assert.deepEqual([await traitsOf(into, ADA), await traitsOf(into, COOKIE)], [null, null]);
    assert.notEqual(await traitsOf(into, BOB), null);
    assert.deepEqual(await statusesOf(into, shop.events), ["dropped", "dropped", "folded", "dropped"]);
    assert.ok(!(await shownOf(into)).includes(secret));
  });

  it("takes what it folds under a uid that is erased in that moment, at once and with its facet", async () => {
    const shop = await aShop();
    const into = await target().workspace();
    const id = into.id as WorkspaceId;
    const { backends, identity } = target().service;
    assert.equal((await into.send("POST", "/v1/imports")).status, 200);
    for (const kind of KINDS.slice(0, 4)) await sendAll(into, shop.lines.get(kind)!, 40);
    // Between the look at the tombstones and the fold: whatever there is to delete by then is deleted.
    let erasureId = "";
    const eraseOnce = async (): Promise<void> => {
      if (erasureId !== "") return;
      erasureId = textAt((await into.send("DELETE", `/v1/profiles/${shop.profileId}`)).body, "erasure_id");
      await until(
        () => into.send("GET", `/v1/erasures/${erasureId}`),
        ({ body }) => body["status"] === "completed",
      );
    };
    let isPurgeDue = false;
    const purge = { due: () => void (isPurgeDue = true), isDue: () => isPurgeDue, run: async () => true };
    const events: Services["events"] = {
      ...backends.events,
      fold: async (...asked) => {
        await eraseOnce();
        return backends.events.fold(...asked);
      },
    };
    const { graph } = backends;
    // Nothing of a catalog is written.
    const noCatalog = { validator: {} as Services["validator"], limits: {} as Services["limits"] };
    const parts = { events, identity, erasures: graph, movements: graph, purge, now };
    const services = { ...backends, ...noCatalog, ...parts };
    const records = shop.lines.get("events")!.flatMap((line): readonly ImportRecord[] => {
      const record = readLine(Buffer.from(line), "line", Date.now());
      return record === null ? [] : [record];
    });
    const uids = records.flatMap((one) => (one.kind === "event" && one.record.facet !== null ? one.record.facet : []));
    await importRecords(services, id, records);
    assert.deepEqual(await statusesOf(into, shop.events), ["dropped", "dropped", "folded", "dropped"]);
    const living = (await backends.events.find(id, shop.events[2] as EventId))!.facet;
    assert.deepEqual([...(await backends.profiles.find(id, uids)).keys()], [living]);
    assert.ok(isPurgeDue, "the bytes are taken from the file, too");
    const receipt = await into.send("GET", `/v1/erasures/${erasureId}`);
    assert.equal(at(receipt.body, "late.events"), 2, receipt.text);
  });

  for (const moment of ["before the events are stored", "before the facets are saved"] as const)
    it(`takes what it writes of somebody who is erased in that moment: ${moment}`, async () => {
      const shop = await aShop();
      const into = await target().workspace();
      const id = into.id as WorkspaceId;
      const { backends, identity } = target().service;
      assert.equal((await into.send("POST", "/v1/imports")).status, 200);
      await sendAll(into, shop.lines.get("catalog")!, 40);
      if (moment === "before the events are stored")
        for (const kind of KINDS.slice(1, 4)) await sendAll(into, shop.lines.get(kind)!, 40);
      let isErased = false;
      const eraseOnce = async (): Promise<void> => {
        if (isErased) return;
        isErased = true;
        const { body } = await into.send("DELETE", `/v1/profiles/${shop.profileId}`);
        const path = `/v1/erasures/${textAt(body, "erasure_id")}`;
        await until(
          () => into.send("GET", path),
          (answer) => answer.body["status"] === "completed",
        );
      };
      const events: Services["events"] = {
        ...backends.events,
        insert: async (...asked) => {
          await eraseOnce();
          return backends.events.insert(...asked);
        },
      };
      const profiles: Services["profiles"] = {
        ...backends.profiles,
        save: async (...asked) => {
          await eraseOnce();
          return backends.profiles.save(...asked);
        },
      };
      const { graph } = backends;
      const purge = { due: () => undefined, isDue: () => false, run: async () => true };
      // Nothing of a catalog is written.
      const noCatalog = { validator: {} as Services["validator"], limits: {} as Services["limits"] };
      const parts = { events, profiles, identity, erasures: graph, movements: graph, purge, now };
      const services = { ...backends, ...noCatalog, ...parts };
      const recordsOf = (kind: string) =>
        shop.lines.get(kind)!.flatMap((line): readonly ImportRecord[] => {
          const record = readLine(Buffer.from(line), "line", Date.now());
          return record === null ? [] : [record];
        });
      const records = recordsOf("events");
      const uids = records.flatMap((one) => (one.kind === "event" ? (one.record.facet ?? []) : []));
      if (moment === "before the facets are saved") await importRecords(services, id, recordsOf("profiles"));
      else {
        // One of hers died there.
        const dead = records.flatMap((one) => {
          if (one.kind !== "event" || one.record.facet === null) return [];
          if (!one.record.identifiers.some(({ value }) => value === ADA.value)) return [];
          const was = { status: "dead", reason: "internal", facet: null, profileIdThen: null } as const;
          return [{ ...one, record: { ...one.record, ...was, eventId: newId<EventId>() } }];
        });
        assert.equal(dead.length, 1);
        await importRecords(services, id, [...records, ...dead]);
        const ids = [...shop.events, dead[0]!.record.eventId];
        assert.deepEqual(await statusesOf(into, ids), ["dropped", "dropped", "folded", "dropped", "dropped"]);
        const stored = await Promise.all(ids.map((one) => backends.events.find(id, one as EventId)));
        assert.deepEqual(
          stored.map((one) => one?.status),
          ["dropped", "dropped", "folded", "dropped", "dropped"],
        );
        const page = { limit: 9, before: null, eventId: null, reason: null };
        assert.deepEqual(await backends.events.deadLetters(id, page), []);
      }
      assert.ok(isErased);
      const living = await graph.livingUids(id, uids);
      const left = [...(await backends.profiles.find(id, uids)).keys()];
      assert.deepEqual(
        left.filter((uid) => !living.has(uid)),
        [],
      );
      // Before its links came, her cookie was a profile of its own.
      assert.equal(left.length, moment === "before the events are stored" ? 1 : 2, "somebody else is left");
    });
});
