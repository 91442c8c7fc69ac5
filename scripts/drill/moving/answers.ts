import { hash } from "node:crypto";
import { requireAnswer, type Client } from "../../shared/client.js";

/** What a workspace answers: how much of it, and a checksum. */
export type Answers = ReadonlyMap<string, { readonly count: number; readonly checksum: string }>;

const LISTS = {
  "/v1/profiles": "profiles",
  "/v1/changes": "changes",
  "/v1/keys": "keys",
  "/v1/schemas": "schemas",
  "/v1/datasets": "datasets",
  "/v1/namespaces": "namespaces",
  "/v1/events": "events",
  "/v1/audiences": "audiences",
  "/v1/dead-letters": "dead_letters",
} as const;
const EXPORTS = ["catalog", "profiles", "changes", "links", "events"] as const;

/** In any order: two engines may list what came in one millisecond otherwise. */
const summed = (texts: readonly string[]) => ({
  count: texts.length,
  checksum: hash("sha256", texts.toSorted().join("\n")).slice(0, 12),
});

export async function answersOf(client: Client, key: string): Promise<Answers> {
  const answers = new Map<string, { count: number; checksum: string }>();
  for (const [path, list] of Object.entries(LISTS)) answers.set(path, summed(await listed(client, key, path, list)));
  for (const name of EXPORTS) {
    const { status, text } = await client.send({ method: "GET", path: `/v1/exports/${name}`, key });
    if (status !== 200 || !text.includes('"complete":true')) throw new Error(`export of ${name}: ${status}`);
    const lines = text.trimEnd().split("\n");
    // A position is signed for its place.
    answers.set(`export ${name}`, summed(lines.map((line) => line.replace(/"position":"[^"]*",?/, ""))));
  }
  return answers;
}

async function listed(client: Client, key: string, path: string, list: string): Promise<readonly string[]> {
  const all: string[] = [];
  for (let cursor = ""; ;) {
    type Page = Readonly<Record<string, readonly object[]>> & { readonly next_cursor?: string | null };
    const page: Page = await requireAnswer<Page>(client, 200, {
      method: "GET",
      path: `${path}?limit=100${cursor}`,
      key,
    });
    all.push(...page[list]!.map((one) => JSON.stringify(one)));
    if (page.next_cursor === null || page.next_cursor === undefined) return all;
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
}

/** What is not as it was. */
export const differences = (before: Answers, after: Answers): readonly string[] =>
  [...before].flatMap(([name, { count, checksum }]) => {
    const now = after.get(name)!;
    return now.checksum === checksum ? [] : [`${name}: ${count} before, ${now.count} after, of other content`];
  });
