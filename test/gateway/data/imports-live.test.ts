import assert from "node:assert/strict";
import type { EventId, WorkspaceId } from "../../../core/ids.js";
import { exportOf, identifier, KINDS, sendLines, shownOf } from "../../support/service/imports.js";
import { EMBEDDED } from "../../support/servers/servers.js";
import { at, listAt, startApp, textAt, useApp, type App, type TestWorkspace } from "../../support/service/app.js";

const c = (value: string) => identifier("cookie_id", value);

describe("An import of an export during which people sent", () => {
  const target = useApp();
  let source: App;
  let from: TestWorkspace;
  before(async () => {
    source = await startApp(EMBEDDED);
  });
  after(() => source.close());
  beforeEach(async () => {
    from = await source.workspace();
  });

  const identify = (...identifiers: readonly object[]) => from.send("POST", "/v1/identify", { identifiers });
  const unlink = async (body: object) => {
    const { status, text, body: undone } = await from.send("POST", "/v1/identity/unlink", body);
    assert.equal(status, 200, text);
    return textAt(undone, "change_id");
  };
  /** Sends the lines twice, as after a break. Answers the workspace, and what was left out by kind. */
  const imported = async (lines: ReadonlyMap<string, readonly string[]>) => {
    const into = await target().workspace();
    await into.send("POST", "/v1/imports");
    const leftOut: Record<string, unknown> = {};
    for (let times = 0; times < 2; times++)
      for (const kind of KINDS) {
        const given = lines.get(kind)!;
        const { status, body, text } = await sendLines(into, given);
        assert.equal(status, 200, `${kind}: ${text}`);
        leftOut[kind] = body["left_out"];
        // The line that ends an export is no record.
        assert.equal(body["stored"], given.length - given.filter(isEnd).length - Number(body["left_out"]), kind);
      }
    await into.send("DELETE", "/v1/imports");
    return { into, leftOut };
  };
  const isEnd = (line: string) => line.startsWith('{"type":"end"');
  const areOne = async (into: TestWorkspace, ...values: readonly string[]) =>
    listAt((await into.send("POST", "/v1/profiles/lookup", { identifiers: values.map(c) })).body, "profiles").length ===
    1;

  it("leaves out what names a change or an identifier of later, and keeps what was removed later", async () => {
    await identify(c("a"), c("b"));
    await identify(c("linked"), c("apart"));
    await identify(c("single"));
    await identify(c("other"));
    const back = await unlink({ from: c("linked"), to: c("apart") });
    const lines = new Map<string, readonly string[]>();
    for (const kind of ["catalog", "profiles", "changes"]) lines.set(kind, await exportOf(from, kind));
    // A profile that is new, two that merge, one that is taken apart for ever, a mark, and an undo of an undo.
    await identify(c("new 1"), c("new 2"));
    await identify(c("single"), c("other"));
    await unlink({ from: c("a"), to: c("b"), forbid: true });
    await unlink({ identifier: c("other") });
    await from.send("POST", `/v1/changes/${back}/revert`);
    for (const kind of ["links", "events"]) lines.set(kind, await exportOf(from, kind));
    const { into, leftOut } = await imported(lines);
    const types = lines.get("links")!.map((line) => textAt(JSON.parse(line), "type"));
    // The link whose undo was undone stands twice.
    assert.deepEqual(
      types.toSorted(),
      ["end", "forbidden_pair", "link", "link", "link", "removed_link", "removed_link", "unlinked"].toSorted(),
    );
    // The link of the new ones and of the merge, the pair, and the mark.
    assert.deepEqual(leftOut, { catalog: 0, profiles: 0, changes: 0, links: 4, events: 0 });
    assert.ok(await areOne(into, "a", "b"));
    assert.ok(!(await areOne(into, "single", "other")));
    assert.ok(await areOne(into, "linked", "apart"), "the link stands since its undo was undone");
    const explained = await into.send("POST", "/v1/identity/explain", { from: c("a"), to: c("b") });
    assert.equal(explained.body["connected"], true);
    assert.deepEqual(listAt((await into.send("GET", "/v1/identity/forbidden-pairs")).body, "forbidden_pairs"), []);
    // It behaves as a whole one afterwards.
    const undone = await into.send("POST", "/v1/identity/unlink", { from: c("a"), to: c("b") });
    assert.deepEqual([undone.status, undone.body["outcome"]], [200, "unlinked"]);
    assert.ok(!(await areOne(into, "a", "b")));
  });

  it("takes an identifier that stands in two profiles, or in none, as the profiles were read while they changed", async () => {
    await identify(c("a"), c("b"));
    await identify(c("old"));
    await identify(c("young"));
    const early = (await exportOf(from, "profiles")).slice(0, 2);
    await unlink({ from: c("a"), to: c("b") });
    // It came to what was taken off, and merged into one that was read already.
    await identify(c("b"), c("d"));
    await identify(c("old"), c("young"));
    const late = (await exportOf(from, "profiles")).filter((line) => !line.includes('"old"'));
    const lines = new Map<string, readonly string[]>();
    for (const kind of KINDS) lines.set(kind, kind === "profiles" ? [...early, ...late] : await exportOf(from, kind));
    assert.equal(lines.get("profiles")!.filter((line) => line.includes('"b"')).length, 2);
    const { into, leftOut } = await imported(lines);
    assert.deepEqual(leftOut, { catalog: 0, profiles: 0, changes: 0, links: 1, events: 0 });
    assert.ok(await areOne(into, "b", "d"));
    const valuesOf = async () =>
      listAt((await into.send("GET", "/v1/profiles")).body, "profiles").map((one) =>
        listAt(one, "identifiers").map((identifier) => at(identifier, "value")),
      );
    assert.deepEqual(await valuesOf(), [["a"], ["b", "d"], ["old"]]);
  });

  it("has the links of profiles that came into another, or out of it, behind the place at which the export of links was", async () => {
    await identify(c("a"), c("a2"));
    await identify(c("w"), c("w2"));
    for (const name of ["b", "d"]) await identify(...["", "2", "3"].map((n) => c(`${name}${n}`)));
    await identify(c("y"), c("y2"));
    await identify(c("z"), c("z2"));
    const lines = new Map<string, readonly string[]>();
    for (const kind of ["catalog", "profiles", "changes"]) lines.set(kind, await exportOf(from, kind));
    const behind = (line: string) =>
      exportOf(from, `links?after=${encodeURIComponent(textAt(JSON.parse(line), "position"))}`);
    const early = (await exportOf(from, "links")).slice(0, 2);
    await identify(c("a"), c("b"));
    await identify(c("a"), c("d"));
    const [second = ""] = await behind(early[1]!);
    await unlink({ from: c("a"), to: c("d") });
    const rest = await behind(second);
    lines.set("links", [...early, second, ...rest]);
    lines.set("events", await exportOf(from, "events"));
    const { into } = await imported(lines);
    for (const name of ["b", "d"]) assert.ok(await areOne(into, name, `${name}2`, `${name}3`), name);
    assert.ok(await areOne(into, "a", "a2"));
    // Whoever stopped behind any line goes on there, and leaves out none.
    const withoutPlaces = (some: readonly string[]) => some.map((line) => line.replace(/"position":"[^"]*"/, ""));
    for (const [n, line] of rest.slice(0, -1).entries()) {
      const found = withoutPlaces(await behind(line));
      const lacking = withoutPlaces(rest.slice(n + 1, -1)).filter((one) => !found.includes(one));
      assert.deepEqual(lacking, [], `behind line ${n}`);
    }
  });

  it("takes removed links that came twice, as who goes on in the middle of an unlink gets them", async () => {
    await identify(...["a", "b", "c", "d"].map(c));
    await unlink({ identifier: c("a") });
    const lines = new Map<string, readonly string[]>();
    for (const kind of KINDS) lines.set(kind, await exportOf(from, kind));
    const links = lines.get("links")!;
    const first = links.findIndex((line) => textAt(JSON.parse(line), "type") === "removed_link");
    const after = encodeURIComponent(textAt(JSON.parse(links[first]!), "position"));
    lines.set("links", [...links.slice(0, first + 1), ...(await exportOf(from, `links?after=${after}`))]);
    const removed = lines.get("links")!.filter((line) => line.includes('"removed_link"'));
    assert.ok(removed.length > new Set(removed).size, `${removed.length} lines`);
    const { into, leftOut } = await imported(lines);
    assert.equal(leftOut["links"], 0);
    assert.deepEqual(await shownOf(into), await shownOf(from));
  });

  it("keeps a link that an event of the import asserted anew, when the lines are sent again", async () => {
    const schemaId = await from.schema({
      type: "object",
      properties: {
        user: { type: "string", "x-identity": { namespace: "user_id" } },
        a: { type: "string", "x-identity": { namespace: "cookie_id" } },
        b: { type: "string", "x-identity": { namespace: "cookie_id" } },
      },
    });
    await identify(c("a"), c("b"));
    await unlink({ from: c("a"), to: c("b") });
    const lines = new Map<string, readonly string[]>();
    for (const kind of KINDS.filter((one) => one !== "events")) lines.set(kind, await exportOf(from, kind));
    // Its profile is in no line, so the import folds it.
    const { body } = await from.collect(schemaId, { user: "late", a: "a", b: "b" });
    await from.settled(body["event_id"]);
    lines.set("events", await exportOf(from, "events"));
    const into = await target().workspace();
    await into.send("POST", "/v1/imports");
    for (const kind of KINDS) assert.equal((await sendLines(into, lines.get(kind)!)).status, 200, kind);
    await into.settled(body["event_id"]);
    assert.ok(await areOne(into, "a", "b"));
    assert.equal((await sendLines(into, lines.get("links")!)).status, 200);
    const explained = await into.send("POST", "/v1/identity/explain", { from: c("a"), to: c("b") });
    assert.deepEqual([explained.status, listAt(explained.body, "path").length], [200, 1], explained.text);
  });

  it("folds an event anew whose profile is in no line, so that an erasure finds it and nothing else hides it", async () => {
    const schemaId = await from.schema();
    await identify(c("early"));
    const lines = new Map<string, readonly string[]>();
    for (const kind of ["catalog", "profiles"]) lines.set(kind, await exportOf(from, kind));
    const emails = ["kept@example.com", "gone@example.com"].map((value) => identifier("email", value));
    const events: string[] = [];
    for (const { value } of emails) {
      events.push(textAt((await from.collect(schemaId, { email: value, city: "Oslo" })).body, "event_id"));
      await from.settled(events.at(-1)!);
    }
    for (const kind of ["changes", "links", "events"]) lines.set(kind, await exportOf(from, kind));
    const { into } = await imported(lines);
    for (const eventId of events) await into.settled(eventId);
    assert.equal((await into.send("POST", "/v1/erasures", { identifiers: [emails[1]] })).status, 202);
    await target().service.keeper!.rest();
    const stored = await target().service.backends.events.find(into.id as WorkspaceId, events[1] as EventId);
    assert.equal(stored?.status, "dropped");
    assert.equal(at((await into.send("GET", `/v1/events/${events[0]}`)).body, "status"), "folded");
    const found = await into.send("POST", "/v1/profiles/lookup", { identifiers: [emails[0]] });
    const shown = await into.send("GET", `/v1/profiles/${textAt(found.body, "profiles.0.profile_id")}`);
    assert.deepEqual([at(shown.body, "traits.city"), at(shown.body, "event_count")], ["Oslo", 1]);
  });
});
