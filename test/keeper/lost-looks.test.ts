import assert from "node:assert/strict";
import { newId, type AudienceId, type ClaimId, type ProfileId, type WorkspaceId } from "../../core/ids.js";
import type { SeatStore } from "../../core/ports/seat-store.js";
import { PER_LOOK } from "../../keeper/audiences/deps.js";
import { textAt, useApp, type TestWorkspace } from "../support/service/app.js";

const IN_PARIS = { "traits.city": "Paris" };
const ann = { namespace: "email", value: "ann@example.com" };
const cookie = { namespace: "cookie_id", value: "c1" };

type Meanwhile = (...of: Parameters<SeatStore["save"]>) => Promise<unknown>;

describe("Looks at profiles between which something else comes", () => {
  /** Runs once, between what the next look reads and its save. */
  let meanwhile: Meanwhile | null = null;
  const app = useApp(
    {},
    {
      wrap: (backends) => ({
        ...backends,
        seats: {
          ...backends.seats,
          save: async (...of) => {
            const come = meanwhile;
            meanwhile = null;
            await come?.(...of);
            return backends.seats.save(...of);
          },
        },
      }),
    },
  );
  let workspace: TestWorkspace;
  let id: WorkspaceId;
  let schemaId: string;
  beforeEach(async () => {
    workspace = await app().workspace();
    id = workspace.id as WorkspaceId;
    schemaId = await workspace.schema();
  });

  const rest = () => app().service.keeper!.rest();
  const seats = () => app().service.backends.seats;
  const create = async (rule: object): Promise<AudienceId> => {
    const { status, text, body } = await workspace.send("POST", "/v1/audiences", { name: "one", rule });
    assert.equal(status, 201, text);
    return textAt(body, "audience_id") as AudienceId;
  };
  const comes = async (city: string): Promise<ProfileId> => {
    const sent = await workspace.collect(schemaId, { email: ann.value, city });
    return textAt((await workspace.settled(sent.body["event_id"])).body, "profile_id") as ProfileId;
  };
  const membersOf = async (audienceId: AudienceId) =>
    (await seats().members(id, audienceId, { limit: 9, after: null })).map(({ profileId }) => profileId);
  /** Another process begins a look, and dies. */
  const steal: Meanwhile = (ofWorkspace, _claim, saves) =>
    seats().claim(
      ofWorkspace,
      newId<ClaimId>(),
      saves.map(({ seat }) => seat.profileId),
    );

  it("keep the mark of a profile whose look was lost", async () => {
    const parisians = await create(IN_PARIS);
    await comes("Lyon");
    await rest();
    meanwhile = steal;
    const profileId = await comes("Paris");
    await rest();
    assert.equal(meanwhile, null, "a look was lost");
    assert.deepEqual(await membersOf(parisians), [profileId]);
  });

  it("keep the note of an identify whose look was lost", async () => {
    const withCookie = await create({ "identifiers.cookie_id": { $exists: true } });
    const profileId = await comes("Paris");
    await rest();
    meanwhile = steal;
    await workspace.send("POST", "/v1/identify", { identifiers: [ann, cookie] });
    await rest();
    assert.equal(meanwhile, null, "a look was lost");
    assert.deepEqual(await membersOf(withCookie), [profileId]);
  });

  it("judge anew by a rule that came while a page was judged by the one before", async () => {
    const profileId = await comes("Paris");
    let audienceId: AudienceId | null = null;
    meanwhile = () => workspace.send("PUT", `/v1/audiences/${audienceId}`, { rule: IN_PARIS });
    audienceId = await create({ "traits.city": "Lyon" });
    await rest();
    assert.equal(meanwhile, null, "the rule was changed meanwhile");
    assert.deepEqual(await membersOf(audienceId), [profileId]);
  });

  it("of a build come again, before it goes on", async () => {
    const profileId = await comes("Paris");
    await rest();
    meanwhile = steal;
    const parisians = await create(IN_PARIS);
    await rest();
    assert.equal(meanwhile, null, "a look was lost");
    assert.deepEqual(await membersOf(parisians), [profileId]);
    const { body } = await workspace.send("GET", `/v1/audiences/${parisians}`);
    assert.equal(body["state"], "live");
  });

  it("at a person who is erased come again, before the feed says that the profile is no more", async () => {
    const parisians = await create(IN_PARIS);
    const profileId = await comes("Paris");
    await rest();
    assert.deepEqual(await membersOf(parisians), [profileId]);
    meanwhile = steal;
    assert.equal((await workspace.send("POST", "/v1/erasures", { identifiers: [ann] })).status, 202);
    await rest();
    assert.equal(meanwhile, null, "a look was lost");
    assert.deepEqual(await membersOf(parisians), []);
    const { entries } = await seats().feed(id, 0, 9);
    assert.deepEqual(
      entries.map(({ entry }) => entry.type),
      ["entered", "left", "profile_erased"],
    );
  });

  it("save nothing that was claimed before an audience ended", async () => {
    const parisians = await create(IN_PARIS);
    const profileId = await comes("Lyon");
    await rest();
    // It has read that they are in Paris, by then.
    const claim = newId<ClaimId>();
    const [seat] = await seats().claim(id, claim, [profileId]);
    assert.equal((await workspace.send("DELETE", `/v1/audiences/${parisians}`)).status, 204);
    await rest();
    assert.deepEqual(await seats().save(id, claim, [{ seat: seat!, entries: [] }]), [false]);
    assert.deepEqual(await membersOf(parisians), []);
  });

  it("save nothing that was claimed before an audience ended, however many they are", async () => {
    const parisians = await create(IN_PARIS);
    await rest();
    const claim = newId<ClaimId>();
    const profileIds = Array.from({ length: PER_LOOK + 1 }, () => newId<ProfileId>());
    const claimed = await seats().claim(id, claim, profileIds);
    assert.equal((await workspace.send("DELETE", `/v1/audiences/${parisians}`)).status, 204);
    await rest();
    const saves = claimed.map((seat) => ({ seat, entries: [] }));
    assert.deepEqual(new Set(await seats().save(id, claim, saves)), new Set([false]));
  });
});
