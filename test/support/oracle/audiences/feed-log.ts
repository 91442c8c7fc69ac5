import assert from "node:assert/strict";

/** An entry of the feed as it is answered. */
export interface FeedEntry {
  readonly seq: number;
  readonly at: string;
  readonly type: "entered" | "left" | "audience_deleted" | "profile_erased";
  readonly audience_id?: string;
  readonly profile_id?: string;
  readonly cause?: string;
  readonly into?: string;
}

/** Audience -> who is in it, and since when. */
export type Seated = Map<string, Map<string, string>>;

/** All pages of members: as of this number, or of some of what came after. */
export interface Copy {
  readonly audienceId: string;
  readonly asOf: number;
  readonly members: readonly { readonly profile_id: string; readonly since: string }[];
}

/** All that was read of a feed from its beginning, and what it adds up to. */
export interface FeedLog {
  readonly entries: FeedEntry[];
  readonly seated: Seated;
  /** Audiences and profiles of which nothing comes any more. */
  readonly over: Set<string>;
}

export const createFeedLog = (): FeedLog => ({ entries: [], seated: new Map(), over: new Set() });

/** Adds an entry. Throws where it breaks a law of the feed. */
export function append(log: FeedLog, entry: FeedEntry): void {
  const { seq, type, audience_id: audienceId, profile_id: profileId, cause, into } = entry;
  const shown = JSON.stringify(entry);
  assert.equal(seq, log.entries.length + 1, `a gap before ${shown}`);
  for (const id of [audienceId, profileId]) assert.ok(!log.over.has(id ?? ""), `after the end of it: ${shown}`);
  log.entries.push(entry);
  if (type === "audience_deleted") log.over.add(audienceId!);
  if (type === "profile_erased") {
    for (const members of log.seated.values()) assert.ok(!members.has(profileId!), `it is still in one: ${shown}`);
    log.over.add(profileId!);
  }
  const isMember = log.seated.get(audienceId ?? "")?.has(profileId ?? "") ?? false;
  if (type === "entered") assert.ok(!isMember, `in already: ${shown}`);
  if (type === "left") assert.ok(isMember, `not in: ${shown}`);
  assert.ok(into === undefined || (type === "left" && cause === "merged"), shown);
  assert.ok(cause !== "erased" || type === "left", shown);
  apply(log.seated, entry);
}

/** What a reader does who keeps the members of audiences: coming twice or going without being there changes nothing. */
export function apply(seated: Seated, { type, at, audience_id: audienceId, profile_id: profileId }: FeedEntry): void {
  if (audienceId === undefined) return;
  const members = seated.get(audienceId) ?? new Map<string, string>();
  if (type === "entered") seated.set(audienceId, members.set(profileId!, at));
  if (type === "left") members.delete(profileId!);
  if (type === "audience_deleted") seated.delete(audienceId);
}
