import assert from "node:assert/strict";
import { continueErasure, handOver, type ContinueServices } from "../../commands/erasures/continue.js";
import { erase } from "../../commands/erasures/erase.js";
import { createLate } from "../../commands/erasures/late.js";
import { judgeImported } from "../../commands/imports/erased.js";
import { identifierKey, type StoredEvent } from "../../core/event/event.js";
import type { Services } from "../../commands/services.js";
import type { LoggedErasure } from "../../core/identity/logged-erasure.js";
import type { Tombstone } from "../../core/identity/tombstone.js";
import type { ErasureId, EventId, SchemaId, Uid, WorkspaceId } from "../../core/ids.js";
import type { EventStore } from "../../core/ports/event-store.js";
import { encodeMessage } from "../../core/event/message.js";
import { aDeadLetter, aFold, aKeyId, anEvent } from "../support/builders.js";
import { textAt, useApp, type TestWorkspace } from "../support/service/app.js";

const ANN = { namespace: "email", value: "ann@example.com" };

describe("What comes too late for an erasure", () => {
  const app = useApp();
  let workspace: TestWorkspace;
  let id: WorkspaceId;
  let schemaId: SchemaId;
  /** What the facet of the erased person had. */
  let dead: Uid;
  let refusedBy: Tombstone;

  const backends = () => app().service.backends;
  beforeEach(async () => {
    workspace = await app().workspace();
    id = workspace.id as WorkspaceId;
    schemaId = (await workspace.schema()) as SchemaId;
    const sent = await workspace.collect(schemaId, { email: ANN.value });
    const eventId = textAt((await workspace.settled(sent.body["event_id"])).body, "event_id") as EventId;
    dead = (await backends().events.find(id, eventId))!.facet!;
    assert.equal((await workspace.send("POST", "/v1/erasures", { identifiers: [ANN] })).status, 202);
    await app().service.keeper!.rest();
    const key = identifierKey(id, ANN);
    refusedBy = (await backends().graph.tombstones(id, [key])).get(key)!;
    assert.deepEqual(refusedBy.uids, [dead]);
  });

  const lateWith = (drop: EventStore["drop"]) => {
    const { graph, events, profiles } = backends();
    return createLate({
      profiles,
      identity: app().service.identity,
      erasures: graph,
      events: { ...events, drop },
      purge: { due: () => undefined },
      now: () => Date.now(),
    });
  };
  /** From before the erasure. */
  const anOld = async (identifiers = [ANN]): Promise<StoredEvent> => {
    const [stored] = await backends().events.insert(id, [
      anEvent({
        workspace: id,
        schemaId,
        identifiers,
        receivedAt: 1_000,
        effectiveTs: "1970-01-01T00:00:01.000000000Z",
      }),
    ]);
    return stored!;
  };
  /** A worker that had the uid before the erasure, and dies. */
  const foldInto = async (event: StoredEvent): Promise<void> =>
    void (await backends().events.fold(id, [aFold(event, { facet: dead })]));
  const isLeft = async () => (await backends().profiles.find(id, [dead])).size > 0;
  const statusOf = async ({ eventId }: StoredEvent) => (await backends().events.find(id, eventId))?.status;

  it("leaves no facet when somebody dies right behind the drop: nothing leads there again", async () => {
    const [refused, other] = [await anOld(), await anOld()];
    await foldInto(other);
    const late = lateWith(async (...given) => {
      await backends().events.drop(...given);
      throw new Error("died");
    });
    await assert.rejects(late.dropRefused(id, [{ eventId: refused.eventId, refusedBy }]), /died/);
    assert.deepEqual([await statusOf(refused), await isLeft()], ["dropped", false]);
  });

  it("leaves nothing that another worker folds there until the refused event is dropped", async () => {
    const [refused, other] = [await anOld(), await anOld()];
    const late = lateWith(async (...given) => {
      if (given[1].includes(refused.eventId)) await foldInto(other);
      return backends().events.drop(...given);
    });
    await late.dropRefused(id, [{ eventId: refused.eventId, refusedBy }]);
    assert.deepEqual([await statusOf(refused), await statusOf(other), await isLeft()], ["dropped", "dropped", false]);
  });

  for (const way of ["is refused", "was folded meanwhile"])
    it(`leaves what else stands there to an erasure that goes on, whose receipt counts it: an event that ${way}`, async () => {
      const sent = await workspace.collect(schemaId, { email: "eve@example.com" });
      const eventId = textAt((await workspace.settled(sent.body["event_id"])).body, "event_id") as EventId;
      const eve = { namespace: "email", value: "eve@example.com" };
      const [uid, key] = [(await backends().events.find(id, eventId))!.facet!, identifierKey(id, eve)];
      await app().service.keeper!.rest();
      const erased = await workspace.send("POST", "/v1/erasures", { identifiers: [eve] });
      const erasureId = textAt(erased.body, "erasure_id") as ErasureId;
      const event = await anOld([eve]);
      const late = lateWith((...given) => backends().events.drop(...given));
      if (way === "is refused") {
        const stone = (await backends().graph.tombstones(id, [key])).get(key)!;
        await late.dropRefused(id, [{ eventId: event.eventId, refusedBy: stone }]);
      } else {
        await backends().events.fold(id, [aFold(event, { facet: uid })]);
        await late.lookAfter(id, { folded: [{ event, facet: uid }], kept: [] });
      }
      await app().service.keeper!.rest();
      const { removed, late: counted, completedAt } = (await backends().graph.findErasure(id, erasureId))!;
      assert.notEqual(completedAt, null);
      assert.deepEqual([removed["events"]! + counted.events, removed["facets"]], [2, 1]);
      assert.ok(removed["events"]! >= 1);
      assert.deepEqual([await statusOf(event), (await backends().profiles.find(id, [uid])).size], ["dropped", 0]);
    });

  it("leaves to an erasure also what it finds once that has passed there", async () => {
    const { graph, events, profiles } = backends();
    const opened = (await graph.findErasure(id, refusedBy.erasureId))!;
    const other = await anOld();
    await foldInto(other);
    const cursor = JSON.stringify({ stage: "files", after: null, naming: null, claimed: null });
    const open = { removed: opened.removed, cursor, completedAt: null };
    await graph.advanceErasure(id, refusedBy.erasureId, opened.rev, open);
    assert.equal(await handOver({ erasures: graph, events, profiles }, id, refusedBy.erasureId, [dead]), true);
    await app().service.keeper!.rest();
    const { removed, completedAt } = (await graph.findErasure(id, refusedBy.erasureId))!;
    assert.notEqual(completedAt, null);
    assert.equal(removed["events"], opened.removed["events"]! + 1);
    assert.deepEqual([await statusOf(other), await isLeft()], ["dropped", false]);
  });

  it("leaves to an erasure also what is folded while it looks at what was left to it before", async () => {
    const { graph, events, profiles } = backends();
    const opened = (await graph.findErasure(id, refusedBy.erasureId))!;
    const cursor = JSON.stringify({ stage: "files", after: null, naming: null, handed: [dead], claimed: null });
    const open = { removed: opened.removed, cursor, completedAt: null };
    const erasure = (await graph.advanceErasure(id, refusedBy.erasureId, opened.rev, open))!;
    const other = await anOld();
    const services = {
      identity: app().service.identity,
      erasures: graph,
      events,
      profiles: {
        ...profiles,
        findSome: async (...given: Parameters<typeof profiles.findSome>) => {
          await foldInto(other);
          assert.equal(await handOver({ erasures: graph, events, profiles }, id, erasure.erasureId, [dead]), true);
          return profiles.findSome(...given);
        },
      },
    } as unknown as ContinueServices;
    assert.equal(await continueErasure(services, erasure), null, "it has to look anew");
    await app().service.keeper!.rest();
    assert.deepEqual([await statusOf(other), await isLeft()], ["dropped", false]);
  });

  it("is found by its facet where no tombstone of what it names tells of it", async () => {
    const event = await anOld([{ namespace: "email", value: "somebody@example.com" }]);
    await foldInto(event);
    await lateWith((...given) => backends().events.drop(...given)).lookAfter(id, {
      folded: [{ event, facet: dead }],
      kept: [],
    });
    assert.deepEqual([await statusOf(event), await isLeft()], ["dropped", false]);
  });

  it("comes in by an import as what is left of it, by the erasure that refuses it", async () => {
    const services = { identity: app().service.identity, erasures: backends().graph };
    const other = await anOld([{ namespace: "email", value: "bob@example.com" }]);
    const judged = await judgeImported(services, id, [await anOld(), other]);
    assert.deepEqual(
      judged.map(({ event, refusedBy: by }) => [event.status, event.identifiers.length, by?.erasureId ?? null]),
      [
        ["dropped", 0, refusedBy.erasureId],
        ["stored", 1, null],
      ],
    );
  });

  it("counts each letter that goes, also those that an event which goes would take with it", async () => {
    const event = await anOld();
    const message = encodeMessage(event);
    const letters = [1, 2].map(() => aDeadLetter({ workspace: id, eventId: event.eventId, killsEvent: true, message }));
    for (const letter of letters) await backends().events.bury(letter);
    const before = (await backends().graph.findErasure(id, refusedBy.erasureId))!.late.events;
    await lateWith((...given) => backends().events.drop(...given)).lookAfter(id, {
      folded: [],
      kept: letters.map((letter) => ({ kind: "letter", letter })),
    });
    const { late } = (await backends().graph.findErasure(id, refusedBy.erasureId))!;
    assert.deepEqual([await statusOf(event), late.events - before], ["dropped", 2]);
  });

  it("takes its dead letter, and not the event of somebody else that stands under the same id", async () => {
    const bobs = await anOld([{ namespace: "email", value: "bob@example.com" }]);
    const { eventId } = bobs;
    const letter = aDeadLetter({
      workspace: id,
      eventId,
      killsEvent: true,
      message: encodeMessage({ ...anEvent({ ...(await anOld()), eventId }) }),
    });
    await backends().events.bury(letter);
    await lateWith((...given) => backends().events.drop(...given)).lookAfter(id, {
      folded: [],
      kept: [{ kind: "letter", letter }],
    });
    assert.equal(await statusOf(bobs), "dead");
    assert.equal(await backends().events.findDeadLetter(id, letter.deadLetterId), null);
  });
});

describe("The answer to an erasure", () => {
  const app = useApp();

  it("comes once the log has it, as it stands, whoever dies then: also that of a repeated one", async () => {
    const workspace = await app().workspace();
    const schemaId = await workspace.schema();
    await workspace.settled((await workspace.collect(schemaId, { email: ANN.value })).body["event_id"]);
    const { catalog, graph, events, profiles } = app().service.backends;
    const lines: LoggedErasure[] = [];
    const erasureLog = { append: async (one: LoggedErasure) => void lines.push(one), entries: () => lines };
    const { identity } = app().service;
    const services = { catalog, events, profiles, erasures: graph, identity, erasureLog } as unknown as Services;
    const caller = { workspace: workspace.id as WorkspaceId, keyId: aKeyId(), sender: aKeyId(), send: null, now: 0 };
    const ask = (suppress: boolean) => erase(services, caller, { identifiers: [ANN] }, { suppress, isAsSeen: null });
    const { erasureId } = await ask(false);
    assert.deepEqual(
      lines.map(({ erasure, buried }) => [erasure.erasureId, erasure.suppress, buried.length]),
      [[erasureId, false, 1]],
    );
    assert.equal((await ask(true)).erasureId, erasureId);
    assert.deepEqual(
      lines.slice(1).map(({ erasure, buried }) => [erasure.erasureId, erasure.suppress, buried.length]),
      [[erasureId, true, 0]],
    );
  });
});
