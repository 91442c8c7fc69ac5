import assert from "node:assert/strict";
import { importRecords } from "../../../commands/imports/records.js";
import type { Services } from "../../../commands/services.js";
import type { WorkspaceId } from "../../../core/ids.js";
import { at, errorPaths, listAt, textAt, useApp } from "../../support/service/app.js";
import { createAudience, feedOf, identifier, sendAll, sendLines } from "../../support/service/imports.js";

describe("An import of audiences", () => {
  const target = useApp();

  it("stores an audience as it is given, once: another one under its id is refused", async () => {
    const into = await target().workspace();
    await into.send("POST", "/v1/imports");
    const audience = (audience_id: string, name: string, rule: object) =>
      JSON.stringify({
        type: "audience",
        position: "x",
        audience_id,
        name,
        rule,
        version: 3,
        created_at: "2026-01-01T00:00:00.000Z",
      });
    const [older, younger] = ["0190f0f0-0000-7000-8000-000000000001", "0190f0f0-0000-7000-8000-000000000002"];
    const everybody = audience(younger, "everybody", {});
    const referring = audience(older, "the same", { $audience: younger });
    const early = await sendLines(into, [referring, everybody]);
    assert.deepEqual([early.status, errorPaths(early)], [422, ["lines.0.rule.$audience"]]);
    for (let n = 0; n < 2; n += 1) await sendAll(into, [everybody, referring], 2);
    const listed = listAt((await into.send("GET", "/v1/audiences")).body, "audiences");
    assert.deepEqual(
      listed.map((one) => [textAt(one, "audience_id"), textAt(one, "name"), at(one, "version")]),
      [
        [older, "the same", 3],
        [younger, "everybody", 3],
      ],
    );
    assert.equal((await sendLines(into, [audience(younger, "everybody", { "identifiers.email": "a" })])).status, 409);
    assert.equal((await into.send("DELETE", `/v1/audiences/${older}`)).status, 204);
    assert.equal((await sendLines(into, [referring])).status, 409, "it was deleted");
    const wrong = await sendLines(into, [audience(older.replace(/1$/, "3"), "a", { "traits.town": "x" })]);
    assert.deepEqual([wrong.status, errorPaths(wrong)], [422, ["lines.0.rule.traits.town"]]);
  });

  it("leaves no notes behind where its audience is refused", async () => {
    const into = await target().workspace();
    await into.send("POST", "/v1/imports");
    const audience_id = "0190f0f0-0000-7000-8000-000000000001";
    const place = { type: "audience", position: "x", audience_id, name: "a", version: 1 };
    const created_at = "2026-01-01T00:00:00.000Z";
    const refused = await sendLines(into, [JSON.stringify({ ...place, created_at, rule: { "traits.town": "x" } })]);
    assert.equal(refused.status, 422, refused.text);
    await into.send("DELETE", "/v1/imports");
    await into.send("POST", "/v1/identify", { identifiers: [identifier("email", "ann@example.com")] });
    await target().service.keeper!.rest();
    assert.deepEqual(await target().service.backends.graph.moved(into.id as WorkspaceId, 10), []);
  });

  it("lets nobody in until the import has ended, whatever comes in meanwhile, and then everybody", async () => {
    const into = await target().workspace();
    await into.send("POST", "/v1/imports");
    const schemaId = await into.schema();
    const everybody = await createAudience(into, "everybody", {});
    const membersOf = async () => {
      await target().service.keeper!.rest();
      const { body } = await into.send("GET", `/v1/audiences/${everybody}/members`);
      return listAt(body, "members").map((one) => textAt(one, "profile_id"));
    };
    const sent = await into.collect(schemaId, { email: "ada@example.com" });
    const seen = textAt((await into.settled(sent.body["event_id"])).body, "profile_id");
    const identifiers = [identifier("email", "bob@example.com"), identifier("cookie_id", "c-1")];
    const linked = textAt((await into.send("POST", "/v1/identify", { identifiers })).body, "profile_id");
    assert.deepEqual(await membersOf(), []);
    await into.send("DELETE", "/v1/imports");
    assert.deepEqual(await membersOf(), [seen, linked].toSorted());
    assert.deepEqual(
      (await feedOf(into)).toSorted(),
      [seen, linked].map((id) => `entered built ${everybody} ${id}`).toSorted(),
    );
  });

  it("has one built again that was stored, and built over nothing, while the import began", async () => {
    const { service } = target();
    const into = await target().workspace();
    const id = await createAudience(into, "everybody", {});
    await service.keeper!.rest();
    // As if it had been stored behind the look at what stands.
    await service.backends.catalog.setImporting(into.id as WorkspaceId, true);
    const identifiers = [identifier("email", "ann@example.com")];
    const linked = textAt((await into.send("POST", "/v1/identify", { identifiers })).body, "profile_id");
    await service.keeper!.rest();
    await into.send("DELETE", "/v1/imports");
    await service.keeper!.rest();
    const { body } = await into.send("GET", `/v1/audiences/${id}/members`);
    assert.deepEqual(
      listAt(body, "members").map((one) => textAt(one, "profile_id")),
      [linked],
    );
  });

  it("leaves audiences as they are where none is open", async () => {
    const into = await target().workspace();
    const id = await createAudience(into, "everybody", {});
    await target().service.keeper!.rest();
    await into.send("DELETE", "/v1/imports");
    const { body } = await into.send("GET", `/v1/audiences/${id}`);
    assert.equal(body["state"], "live");
  });

  it("is refused where the feed has entries: it told the end of an audience that may come back", async () => {
    const into = await target().workspace();
    const id = await createAudience(into, "everybody", {});
    await into.send("DELETE", `/v1/audiences/${id}`);
    await target().service.keeper!.rest();
    const refused = await into.send("POST", "/v1/imports");
    assert.deepEqual([refused.status, refused.body["stands"]], [409, ["feed"]]);
  });

  it("whose last lines come when it has ended has all profiles judged again", async () => {
    const into = await target().workspace();
    await into.send("POST", "/v1/imports");
    const id = await createAudience(into, "everybody", {});
    const { backends } = target().service;
    // Answers yes for the last time, and by the next look it has ended and all have been judged.
    let looks = 0;
    const isImporting = async (workspace: WorkspaceId): Promise<boolean> => {
      looks += 1;
      if (looks === 1) return true;
      await into.send("DELETE", "/v1/imports");
      await target().service.keeper!.rest();
      return backends.catalog.isImporting(workspace);
    };
    const catalog = { ...backends.catalog, isImporting };
    const services = { ...backends, catalog, identity: target().service.identity } as unknown as Services;
    await importRecords(services, into.id as WorkspaceId, []);
    assert.equal(looks, 2);
    const { body } = await into.send("GET", `/v1/audiences/${id}`);
    assert.deepEqual([body["state"], body["version"]], ["building", 1]);
    await target().service.keeper!.rest();
  });
});
