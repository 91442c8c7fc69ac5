import assert from "node:assert/strict";
import type { Identifier } from "../../../core/event/event.js";
import type { Identity, UndoResult } from "../../../core/identity/api.js";
import type { EventId, KeyId, WorkspaceId } from "../../../core/ids.js";
import type { Rules } from "../../../core/identity/model.js";
import type { IdentityGraph } from "../../../core/ports/identity-graph.js";
import { createIdentity } from "../../../graph/identity.js";
import { inPortions } from "../../../graph/scheduling/chunks.js";
import { NO_RULES } from "../../../graph/rules/assert.js";
import { useEmbeddedGraph } from "../../support/identity/use-graph.js";
import { aWorkspace, anIdentifier } from "../../support/identity/fixtures.js";
import { forSeeds } from "../../support/identity/model.js";
import { checkRight } from "../../support/identity/undo-bench.js";
import { createRandom, SEED, type Random } from "../../support/random/random.js";

const evidence = (source: "identify" | "unlink" | "revert" | EventId, at = 1_000) => ({
  source,
  keyId: "key0000001" as KeyId,
  at,
});
const hub = anIdentifier("hub", "device_id");

describe(`An undo in a profile that another process links to all the time (seed ${SEED})`, () => {
  const graphOf = useEmbeddedGraph();

  interface Scene {
    readonly workspace: WorkspaceId;
    readonly everybody: Identifier[];
    /** Whose undo it is. */
    readonly one: Identity;
    /** Another process over the same graph. */
    readonly other: Identity;
    /** Before each page that is read and each step that is written. */
    arrive: (before: "page" | "step") => Promise<unknown>;
  }
  function aScene(linksPerStep: number, rules: () => Rules = () => NO_RULES): Scene {
    const graph: IdentityGraph = {
      ...graphOf(),
      members: async (...asked) => {
        await scene.arrive("page");
        return graphOf().members(...asked);
      },
      links: async (...asked) => {
        await scene.arrive("page");
        return graphOf().links(...asked);
      },
      update: async (...asked) => {
        await scene.arrive("step");
        return graphOf().update(...asked);
      },
    };
    const rulesOf = async () => rules();
    const scene: Scene = {
      workspace: aWorkspace(),
      everybody: [],
      one: createIdentity({ graph, timeoutMs: 20_000, linksPerStep, rulesOf }),
      other: createIdentity({ graph: graphOf(), timeoutMs: 20_000, rulesOf }),
      arrive: async () => undefined,
    };
    return scene;
  }
  const link = async ({ other, workspace, everybody }: Scene, ...identifiers: readonly Identifier[]) => {
    if (new Set(identifiers.map(({ value }) => value)).size < identifiers.length) return;
    for (const one of identifiers) if (!everybody.some(({ value }) => value === one.value)) everybody.push(one);
    await other.assert(workspace, { identifiers, evidence: evidence("identify") });
  };
  const check = ({ workspace, everybody }: Scene) => checkRight({ graph: graphOf(), workspace }, everybody);
  const newcomer = ({ everybody }: Pick<Scene, "everybody">) => anIdentifier(`n${everybody.length}`);

  const linksOf = async ({ other, workspace }: Scene, one: Identifier, others: readonly Identifier[]) => {
    let found = 0;
    for (const to of others) {
      const { path } = await other.explain(workspace, one, to);
      if (path?.length === 1) found += 1;
    }
    return found;
  };

  for (const busy of ["hub", "p3"])
    it(`takes the hub's links away at the first read, though ${busy} gets a link before each page and step`, async () => {
      const scene = aScene(3);
      const people = [...Array(12).keys()].map((n) => anIdentifier(`p${n}`));
      for (const one of people) await link(scene, hub, one);
      const whom = busy === "hub" ? hub : people[3]!;
      scene.arrive = () => link(scene, whom, newcomer(scene));
      const undone = await scene.one.unlink(scene.workspace, { identifier: hub }, evidence("unlink"));
      scene.arrive = async () => undefined;
      assert.equal(undone.outcome, "unlinked");
      assert.equal(await linksOf(scene, hub, people), 0);
      await check(scene);
      scene.arrive = () => link(scene, whom, newcomer(scene));
      const back = await scene.one.revert(scene.workspace, undone.changeId!, evidence("revert"));
      scene.arrive = async () => undefined;
      assert.equal(back.outcome, "reverted");
      assert.equal(await linksOf(scene, hub, people), people.length);
      await check(scene);
    });

  it("reads links for more than one look once, though the hub gets a link before each page and step", async () => {
    const scene = aScene(500);
    const { one, other, workspace } = scene;
    const people = [...Array(2_100).keys()].map((n) => anIdentifier(`p${n}`));
    for (const portion of inPortions(people, () => 100))
      await other.assertAll(
        workspace,
        portion.map((person) => ({ identifiers: [hub, person], evidence: evidence("identify") })),
      );
    scene.everybody.push(hub, ...people);
    const { changeId } = await one.unlink(workspace, { identifier: hub }, evidence("unlink"));
    const back = await one.revert(workspace, changeId!, evidence("revert"));
    let pages = 0;
    scene.arrive = (before) => {
      if (before === "page") pages += 1;
      return link(scene, hub, newcomer(scene));
    };
    const undone = await one.revert(workspace, back.changeId!, evidence("revert"));
    scene.arrive = async () => undefined;
    assert.deepEqual([undone.outcome, pages], ["reverted", 2]);
    const sizes = await other.lookup(workspace, [hub, ...people]);
    assert.deepEqual(new Set(sizes.slice(1).map((ref) => ref!.size)), new Set([1]));
    assert.equal(sizes[0]!.size, scene.everybody.length - people.length);
  });

  it("parts two hubs that both get links all the time", async () => {
    const scene = aScene(3);
    const second = anIdentifier("second", "device_id");
    for (let n = 0; n < 10; n++) await link(scene, n % 2 === 0 ? hub : second, anIdentifier(`p${n}`));
    await link(scene, hub, second);
    let turn = 0;
    scene.arrive = () => link(scene, (turn += 1) % 2 === 0 ? hub : second, newcomer(scene));
    const asked = { from: hub, to: second, forbid: true };
    const undone = await scene.one.unlink(scene.workspace, asked, evidence("unlink"));
    scene.arrive = async () => undefined;
    assert.deepEqual([undone.outcome, undone.stillJoinedBy], ["unlinked", null]);
    const { connected } = await scene.other.explain(scene.workspace, hub, second);
    assert.equal(connected, false);
    await check(scene);
  });

  it("names what stays by its smallest uid, also when that is in a part which a new link holds back", async () => {
    const scene = aScene(100);
    const [oldest, older, friend] = ["oldest", "older", "friend"].map((value) => anIdentifier(value));
    await link(scene, oldest!);
    await link(scene, older!, friend!);
    for (const one of [older!, oldest!]) await link(scene, one, hub);
    let isRead = false;
    scene.arrive = async (before) => {
      isRead ||= before === "page";
      if (isRead && before === "step") await link(scene, friend!, hub);
      // The profiles as the first step left them.
      else await check(scene);
    };
    await scene.one.unlink(scene.workspace, { identifier: hub }, evidence("unlink"));
    await check(scene);
  });

  for (const how of ["erased", "allowed"])
    it(`gives no part a forbidden pair that ended since the profile was read: ${how}`, async () => {
      for (const linksPerStep of [1, 100]) {
        const scene = aScene(linksPerStep);
        const { one, other, workspace } = scene;
        const people = [...Array(4).keys()].map((n) => anIdentifier(`p${n}`));
        const enemy = anIdentifier("enemy");
        for (const person of people) await link(scene, hub, person);
        await other.assert(workspace, { identifiers: [enemy], evidence: evidence("identify") });
        await other.unlink(workspace, { from: people[1]!, to: enemy, forbid: true }, evidence("unlink"));
        let [isRead, hasEnded] = [false, false];
        scene.arrive = async (before) => {
          isRead ||= before === "page";
          if (!isRead || hasEnded || before === "page") return;
          hasEnded = true;
          const [pair] = await other.forbiddenPairs(workspace, { limit: 1, after: null });
          const { keyId } = evidence("unlink");
          const target = { identifiers: [enemy] };
          if (how === "allowed") await other.allow(workspace, pair!.forbiddenPairId, evidence("unlink"));
          else await other.erase(workspace, { target, keyId, suppress: false, revision: null });
        };
        const undone = await one.unlink(workspace, { identifier: hub }, evidence("unlink"));
        assert.deepEqual([undone.outcome, hasEnded], ["unlinked", true]);
        await check(scene);
      }
    });

  for (const kind of ["allow", "forbid"] as const)
    for (const update of [1, 2])
      it(`finds no pair to ${kind} any more, of which one side is erased before its update ${update}`, async () => {
        const scene = aScene(1);
        const { one, other, workspace } = scene;
        const asked = { from: anIdentifier("friend"), to: anIdentifier("enemy"), forbid: true };
        for (const side of [asked.from, asked.to])
          await other.assert(workspace, { identifiers: [side], evidence: evidence("identify") });
        if (kind === "allow") await other.unlink(workspace, asked, evidence("unlink"));
        const [pair] = await other.forbiddenPairs(workspace, { limit: 1, after: null });
        let updates = 0;
        scene.arrive = async () => {
          updates += 1;
          if (updates !== update) return;
          const { keyId } = evidence("unlink");
          await other.erase(workspace, {
            target: { identifiers: [asked.to] },
            keyId,
            suppress: false,
            revision: null,
          });
        };
        const undo =
          kind === "allow"
            ? one.allow(workspace, pair!.forbiddenPairId, evidence("unlink"))
            : one.unlink(workspace, asked, evidence("unlink"));
        await assert.rejects(undo, { code: "not_found" });
        assert.ok(updates >= update);
        await check({ ...scene, everybody: [asked.from] });
      });

  /** Links of any kind: with newcomers, between members, and with profiles of their own. */
  const anArrival = (scene: Scene, random: Random) => (): Promise<unknown> => {
    if (random.below(3) > 0) return Promise.resolve();
    const [known, other] = [random.pick(scene.everybody), random.pick(scene.everybody)];
    const fresh = newcomer(scene);
    const kind = random.below(4);
    if (kind < 2) return link(scene, known, fresh);
    if (kind === 2) return known.value === other.value ? Promise.resolve() : link(scene, known, other);
    const far = newcomer({ everybody: [...scene.everybody, fresh] });
    return link(scene, fresh, far).then(() => link(scene, fresh, known));
  };

  it("leaves profiles that are what hangs together, whatever arrives in between, for 50 graphs", function () {
    this.timeout(120_000);
    return forSeeds(SEED, 50, async (seed) => {
      const random = createRandom(seed);
      const scene = aScene(1 + random.below(4));
      const people = [...Array(3 + random.below(8)).keys()].map((n) => anIdentifier(`p${n}`));
      const all = [hub, ...people];
      for (const [n, one] of people.entries())
        await link(scene, random.below(3) > 0 ? hub : random.pick(all.slice(0, n + 1)), one);
      for (let n = random.below(6); n > 0; n--) {
        const [a, b] = [random.pick(all), random.pick(all)];
        if (a.value !== b.value) await link(scene, a, b);
      }
      scene.arrive = anArrival(scene, random);
      const undone: UndoResult =
        random.below(3) > 0
          ? await scene.one.unlink(scene.workspace, { identifier: hub }, evidence("unlink"))
          : await scene.one.unlink(
              scene.workspace,
              { from: hub, to: random.pick(people), forbid: false },
              evidence("unlink"),
            );
      await check(scene);
      if (undone.changeId !== null) await scene.one.revert(scene.workspace, undone.changeId, evidence("revert"));
      scene.arrive = async () => undefined;
      await check(scene);
    });
  });

  it("restores by the rules as they are when a link is written: a limit that is set meanwhile is kept", async () => {
    for (const linksPerStep of [2, 100]) {
      let [asked, isSet] = [0, false];
      // What the revert asks for first it decides by, and then a step.
      const rules = (): Rules =>
        isSet && (asked += 1) > 1 ? { ...NO_RULES, limits: new Map([["user_id", 2]]) } : NO_RULES;
      const scene = aScene(linksPerStep, rules);
      const people = [...Array(6).keys()].map((n) => anIdentifier(`p${n}`));
      for (const one of people) await link(scene, hub, one);
      const undone = await scene.one.unlink(scene.workspace, { identifier: hub }, evidence("unlink"));
      isSet = true;
      const back = await scene.one.revert(scene.workspace, undone.changeId!, evidence("revert"));
      const sizes = await scene.other.lookup(scene.workspace, [hub]);
      assert.equal(sizes[0]!.size, 3, `the hub and two of them, by ${linksPerStep}`);
      assert.equal(back.dropped.length, 4);
      const [record] = await scene.other.changes(scene.workspace, "reverted", { limit: 1, before: null });
      if (linksPerStep === 100) assert.equal(record!.dropped.length, 4);
    }
  });
});
