import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newBuild, type Audience } from "../../../core/audience/audience.js";
import { newId, type AudienceId, type ProfileId, type WorkspaceId } from "../../../core/ids.js";
import type { Page } from "../../../core/ports/port.js";
import { createEmbeddedAudienceStore } from "../../../store/embedded/audiences/audiences.js";
import { createEmbeddedSeatStore } from "../../../store/embedded/audiences/seats.js";
import { openEmbedded, type EmbeddedStore } from "../../../store/embedded/open.js";
import { temporaryFolder } from "../../support/backends.js";

const anAudience = (audienceId: AudienceId): Audience => ({
  audienceId,
  name: "x".repeat(300),
  text: "{}",
  rule: { kind: "or", parts: [] },
  version: 1,
  createdAt: 1,
  build: newBuild("built"),
});

/** The keeper goes by these lists: whoever is not on them is never tended. */
describe("A damaged page of audiences and one of feeds", () => {
  const workspaces = Array.from({ length: 200 }, () => ({
    workspace: newId<WorkspaceId>(),
    audienceId: newId<AudienceId>(),
  }));
  const all = workspaces.map(({ workspace }) => workspace).toSorted();
  let folder: string;
  let store: EmbeddedStore;
  const open = async () => {
    store = await openEmbedded({ dataDir: folder, checkpointMs: 60_000, onError: () => undefined });
    return { audiences: createEmbeddedAudienceStore(store), seats: createEmbeddedSeatStore(store) };
  };

  before(async () => {
    folder = await temporaryFolder();
    const { audiences, seats } = await open();
    for (const { workspace, audienceId } of workspaces) {
      await audiences.changeAudiences(workspace, () => ({ audiences: [anAudience(audienceId)], deleted: [] }));
      const profileId = newId<ProfileId>();
      await seats.append(workspace, "a", [
        { type: "entered", at: 1, audienceId, profileId, cause: "built", into: null },
      ]);
    }
    await store.close();
    const file = join(folder, "onym.db");
    const bytes = await readFile(file);
    const { audienceId } = workspaces[100]!;
    // In the row of the audiences, and in the sizes of the feed.
    for (const text of [`{"audienceId":"${audienceId}","name"`, `["${audienceId}",1]`]) {
      const at = bytes.indexOf(text);
      assert.ok(at > 0, text);
      bytes[at + 10]! ^= 1;
    }
    await writeFile(file, bytes);
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  it("still let all workspaces be listed", async () => {
    const { audiences, seats } = await open();
    const lists = [
      {
        list: (page: Page<WorkspaceId>) => audiences.watching(page),
        read: (one: WorkspaceId) => audiences.audiences(one),
      },
      { list: (page: Page<WorkspaceId>) => seats.feeds(page), read: (one: WorkspaceId) => seats.sizes(one) },
    ];
    for (const { list, read } of lists) {
      const readable = await Promise.allSettled(all.map((workspace) => read(workspace)));
      const lost = readable.filter(({ status }) => status === "rejected").length;
      assert.ok(lost > 0 && lost < 100, `${lost} are lost`);
      const found: WorkspaceId[] = [];
      for (let after: WorkspaceId | null = null; ;) {
        const page: readonly WorkspaceId[] = await list({ limit: 30, after });
        found.push(...page);
        if (page.length < 30) break;
        after = page.at(-1)!;
      }
      assert.deepEqual(found, all);
    }
  });
});
