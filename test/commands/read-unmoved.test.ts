import assert from "node:assert/strict";
import { lookUpProfiles } from "../../commands/search/look-up.js";
import { readLive } from "../../commands/read-profile.js";
import type { Services, TakeBytes } from "../../commands/services.js";
import type { Identifier } from "../../core/event/event.js";
import type { Identity } from "../../core/identity/api.js";
import { newId, type ProfileId, type WorkspaceId } from "../../core/ids.js";
import { isAppError } from "../support/errors.js";
import { textAt, useApp, type TestWorkspace } from "../support/service/app.js";

const email = (name: string): Identifier => ({ namespace: "email", value: `${name}@example.com` });

/** The keeper finds no erasure that is open, so all that is stored stays there. */
describe("A read of profiles that waits for room", () => {
  const app = useApp(
    {},
    { wrap: (backends) => ({ ...backends, graph: { ...backends.graph, openErasures: async () => [] } }) },
  );
  let workspace: TestWorkspace;
  let schemaId: string;
  beforeEach(async () => {
    workspace = await app().workspace();
    schemaId = await workspace.schema({
      type: "object",
      properties: {
        email: { type: "string", "x-identity": { namespace: "email" } },
        spent: { type: "number", "x-trait": { name: "spent", merge: "sum" } },
        note: { type: "string", "x-trait": { name: "notes", merge: "union" } },
      },
    });
  });

  const services = (): Services => {
    const { backends, identity } = app().service;
    return { ...backends, identity, limits: { profileIdentifiersMax: 100 } } as unknown as Services;
  };
  /** One event of the person. Answers the profile's id. */
  const spend = async (name: string, spent: number): Promise<string> => {
    const sent = await workspace.collect(schemaId, { email: email(name).value, spent });
    return textAt((await workspace.settled(sent.body["event_id"])).body, "profile_id");
  };
  const identify = async (...names: readonly string[]): Promise<string> =>
    textAt((await workspace.send("POST", "/v1/identify", { identifiers: names.map(email) })).body, "profile_id");
  /** Done while the read waits the first time. */
  const meanwhile = (act: () => Promise<unknown>) => {
    const taken: number[] = [];
    const takeBytes: TakeBytes = async (bytes) => {
      taken.push(bytes);
      if (taken.length === 1) await act();
      return taken.length === 1;
    };
    return { taken, takeBytes };
  };
  const lookUp = async (names: readonly string[], takeBytes: TakeBytes) => {
    const asked = names.map(email);
    const { profiles, unknown } = await lookUpProfiles(services(), workspace.id as WorkspaceId, asked, takeBytes);
    const shown = profiles.map(({ profileId, identifiers, facet, matched }) => ({
      profileId,
      identifiers: identifiers.map(({ value }) => value).toSorted(),
      count: facet.eventCount,
      matched: matched.map(({ value }) => value),
    }));
    return { shown, unknown };
  };
  const erase = (profileId: string) => async () =>
    assert.equal((await workspace.send("DELETE", `/v1/profiles/${profileId}`)).status, 202);

  it("does not answer a person whose erasure was accepted meanwhile", async () => {
    const ada = await spend("ada", 7);
    const bob = await spend("bob", 5);
    const { shown, unknown } = await lookUp(["ada", "bob"], meanwhile(erase(ada)).takeBytes);
    assert.deepEqual(unknown, [email("ada")]);
    assert.deepEqual(
      shown.map(({ profileId }) => profileId),
      [bob],
    );
    const { takeBytes } = meanwhile(erase(bob));
    await assert.rejects(readLive(services(), workspace.id as WorkspaceId, bob, takeBytes), isAppError("not_found"));
  });

  it("answers one whose identifier left it meanwhile without what that one added", async () => {
    await spend("ada", 7);
    await spend("bob", 5);
    const whole = await identify("ada", "bob");
    const { takeBytes, taken } = meanwhile(async () => {
      const pair = { from: email("ada"), to: email("bob") };
      assert.equal((await workspace.send("POST", "/v1/identity/unlink", pair)).status, 200);
    });
    const { shown } = await lookUp(["ada", "bob"], takeBytes);
    assert.deepEqual(
      shown.map(({ identifiers, count, matched }) => [identifiers, count, matched]),
      ["ada", "bob"].map((name) => [[email(name).value], 1, [email(name).value]]),
    );
    assert.ok(shown.some(({ profileId }) => profileId === whole));
    assert.ok(taken.length <= 2, "what was taken for the first read has room for the next");
  });

  it("answers those that merged meanwhile once, under the id of the live one", async () => {
    await spend("ada", 7);
    await spend("bob", 5);
    let live = "";
    const merge = async () => void (live = await identify("ada", "bob"));
    const { shown } = await lookUp(["ada", "bob"], meanwhile(merge).takeBytes);
    const both = ["ada", "bob"].map((name) => email(name).value);
    assert.deepEqual(shown, [{ profileId: live, identifiers: both, count: 2, matched: both }]);

    const eve = await spend("eve", 3);
    const joined = async () => void (live = await identify("ada", "eve"));
    const read = await readLive(services(), workspace.id as WorkspaceId, eve, meanwhile(joined).takeBytes);
    assert.deepEqual([read.profileId, read.facet.eventCount], [live, 3]);
  });

  it("answers each of more profiles than identifiers may be read", async () => {
    const names = Array.from({ length: 105 }, (_, n) => `person${n}`);
    for (const name of names) await identify(name, `${name}.too`);
    const { shown, unknown } = await lookUp(names, async () => false);
    assert.deepEqual([shown.length, unknown], [105, []]);
    assert.ok(shown.every(({ identifiers }) => identifiers.length > 0));
  });

  /** Runs before the members of a profile are read, and counts how often people were looked up. */
  const watched = (beforeMembers: () => Promise<unknown>, takeBytes: TakeBytes = async () => false) => {
    const lookups = { count: 0 };
    const { identity, ...others } = services();
    const watching: Identity = {
      ...identity,
      lookup: async (...given) => {
        lookups.count += 1;
        return identity.lookup(...given);
      },
      members: async (...given) => {
        await beforeMembers();
        return identity.members(...given);
      },
    };
    const lookUpWatched = (...names: readonly string[]) =>
      lookUpProfiles({ ...others, identity: watching }, workspace.id as WorkspaceId, names.map(email), takeBytes);
    return { lookups, lookUp: lookUpWatched };
  };
  const once = (act: () => Promise<unknown>) => {
    let acted: Promise<unknown> | null = null;
    return () => (acted ??= act());
  };

  it("looks them up once where it waited for nobody", async () => {
    await spend("ada", 7);
    const one = watched(async () => {});
    assert.deepEqual(
      (await one.lookUp("ada", "bob")).profiles.map(({ facet }) => facet.eventCount),
      [1],
    );
    assert.equal(one.lookups.count, 1);
  });

  it("mixes no states where they move between the look-up and the read", async () => {
    const [ada] = [await spend("ada", 7), await spend("bob", 5)];
    const merging = watched(once(() => identify("ada", "bob")));
    const { profiles } = await merging.lookUp("ada", "bob");
    assert.deepEqual(
      profiles.map(({ facet, identifiers }) => [facet.eventCount, identifiers.length]),
      [[2, 2]],
    );
    const pair = { from: email("ada"), to: email("bob") };
    const parted = await watched(once(() => workspace.send("POST", "/v1/identity/unlink", pair))).lookUp("ada", "bob");
    assert.deepEqual(
      parted.profiles.map(({ facet, identifiers }) => [facet.eventCount, identifiers.length]),
      [
        [1, 1],
        [1, 1],
      ],
    );
    const erased = await watched(once(erase(ada))).lookUp("ada", "bob");
    assert.deepEqual(erased.unknown, [email("ada")]);
    assert.equal(erased.profiles.length, 1);
  });

  it("takes the bytes of what it reads again once", async () => {
    const noted = ["ada", "bob"].flatMap((name) =>
      Array.from({ length: 10 }, (_, n) => ({ email: email(name).value, note: `${name} ${n} ${"x".repeat(1_000)}` })),
    );
    for (const payload of noted) await workspace.settled((await workspace.collect(schemaId, payload)).body["event_id"]);
    const takenBy = async (beforeMembers: () => Promise<unknown>): Promise<number> => {
      let taken = 0;
      const takeBytes: TakeBytes = async (bytes) => {
        taken += bytes;
        return false;
      };
      await watched(beforeMembers, takeBytes).lookUp("ada", "bob");
      return taken;
    };
    const still = await takenBy(async () => {});
    assert.ok(still > 10_000, `${still} bytes`);
    const moved = await takenBy(once(() => identify("ada", "bob")));
    // The first read meets both of them under either id, and the second needs no more.
    assert.ok(moved <= 2 * still, `${moved} of ${still} bytes`);
  });

  it("ends where they move each time", async () => {
    await spend("ada", 7);
    const { identity } = app().service;
    let lookups = 0;
    const moving = {
      ...services(),
      identity: {
        ...identity,
        lookup: async (...given: Parameters<Identity["lookup"]>) => {
          lookups += 1;
          const found = await identity.lookup(...given);
          return found.map((ref) => ref && { ...ref, profileId: newId<ProfileId>() });
        },
      },
    };
    const read = lookUpProfiles(moving, workspace.id as WorkspaceId, [email("ada")], async () => false);
    await assert.rejects(read, isAppError("unavailable"));
    assert.equal(lookups, 3);
  });
});
