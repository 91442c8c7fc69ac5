import assert from "node:assert/strict";
import { readIfLive } from "../../commands/search/list.js";
import { openRoom } from "../../commands/search/room.js";
import type { Services } from "../../commands/services.js";
import type { ProfileId, WorkspaceId } from "../../core/ids.js";
import { textAt, useApp } from "../support/service/app.js";

const cookie = { namespace: "cookie_id", value: "c-1" };
const email = { namespace: "email", value: "ann@example.com" };

describe("A list of profiles", () => {
  const app = useApp();

  it("leaves out one that merges into another while it is read: it comes under the other's id", async () => {
    const workspace = await app().workspace();
    const id = workspace.id as WorkspaceId;
    const made = async (identifiers: readonly object[]) =>
      textAt((await workspace.send("POST", "/v1/identify", { identifiers })).body, "profile_id") as ProfileId;
    const ids = [await made([email]), await made([cookie])] as const;
    const { backends, identity } = app().service;
    const limits = { profileIdentifiersMax: 100, payloadBytesMax: 1_000 } as Services["limits"];
    const services = { ...backends, identity, limits } as unknown as Services;
    const room = await openRoom(services, async () => false, 9);
    let live: ProfileId | null = null;
    const merging = async () => {
      live ??= await made([email, cookie]);
      return true;
    };
    const read = await Promise.all(ids.map((one) => readIfLive(services, id, one, room, merging)));
    assert.deepEqual(
      read.flatMap((one) => one?.profileId ?? []),
      [live],
    );
  });
});
