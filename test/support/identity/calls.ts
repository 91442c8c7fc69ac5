import assert from "node:assert/strict";
import { at, listAt, textAt, type Answer, type TestWorkspace } from "../service/app.js";

export interface Named {
  readonly namespace: string;
  readonly value: string;
}
export const id = (namespace: string, value: string): Named => ({ namespace, value });
export const user = (value: string): Named => id("user_id", value);
export const device = (value: string): Named => id("device_id", value);

/** What a steward does over HTTP, in one workspace. `query` begins with a question mark. */
export const identityCalls = (workspace: TestWorkspace) => {
  const post = (target: string, body?: unknown) => workspace.send("POST", `/v1/${target}`, body);
  const ok = async (answer: Promise<Answer>): Promise<Answer> => {
    const got = await answer;
    assert.equal(got.status, 200, got.text);
    return got;
  };
  const get = (target: string) => workspace.send("GET", `/v1/${target}`);
  return {
    workspace,
    get,
    /** These must succeed. */
    identify: (...identifiers: readonly Named[]) => ok(post("identify", { identifiers })),
    alias: (anonymous: Named, known: Named) => ok(post("alias", { anonymous, known })),
    unlink: (body: unknown, query = "") => ok(post(`identity/unlink${query}`, body)),
    revert: (changeId: unknown, query = "") => ok(post(`changes/${String(changeId)}/revert${query}`)),
    explain: (from: Named, to: Named) => ok(post("identity/explain", { from, to })),
    /** Any answer. */
    post,
    /** Null when it was never seen. */
    profileOf: async (identifier: Named): Promise<unknown> =>
      at((await ok(post("profiles/lookup", { identifiers: [identifier] }))).body, "profiles.0.profile_id") ?? null,
    changes: async (query = ""): Promise<readonly unknown[]> =>
      listAt((await ok(get(`changes${query}`))).body, "changes"),
    /** All of a list, in pages of the limit. */
    pages: async (target: string, limit: number): Promise<readonly Answer[]> => {
      const answers: Answer[] = [];
      for (let cursor = ""; ; cursor = `&cursor=${textAt(answers.at(-1)!.body, "next_cursor")}`) {
        answers.push(await ok(get(`${target}?limit=${limit}${cursor}`)));
        if (answers.at(-1)!.body["next_cursor"] === null) return answers;
        assert.ok(answers.length < 1_000, "the pages end");
      }
    },
  };
};
export type IdentityCalls = ReturnType<typeof identityCalls>;
