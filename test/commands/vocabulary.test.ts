import assert from "node:assert/strict";
import { readVocabulary } from "../../commands/search/vocabulary.js";
import type { Services } from "../../commands/services.js";
import type { SchemaVersion } from "../../core/catalog/catalog.js";
import type { SchemaId } from "../../core/ids.js";
import type { Page } from "../../core/ports/port.js";
import { assertWithin } from "../support/house/yardstick.js";
import { aSchema } from "../support/schemas.js";

const VERSIONS = 400;
const text = { type: "string" };
const wide = Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`property_number_${at}`, text]));

/** Only the third version knows `old`, and only the last two know `total`. */
const propertiesOf = (version: number): object => ({
  ...wide,
  ...(version === 3 && { old: text }),
  ...(version > VERSIONS - 2 && { total: version === VERSIONS ? text : { type: "number" } }),
});
const TEXTS = Array.from({ length: VERSIONS }, (_, at) => JSON.stringify({ properties: propertiesOf(at + 1) }));
const MODEL = aSchema({});
const versionOf = (version: number): SchemaVersion => ({ ...MODEL, version, schema: TEXTS[version - 1]! });

/** What a rule may say of the schema, and how many reads of its versions that took. */
async function wordsOf(condition: object) {
  let reads = 0;
  const catalog = {
    traits: async () => new Map(),
    namespaces: async () => [],
    findSchema: async (_: unknown, schemaId: SchemaId) => (schemaId === "order" ? versionOf(VERSIONS) : null),
    schemaVersions: async (_: unknown, schemaId: SchemaId, { limit, after }: Page<number>) => {
      reads += 1;
      const from = after ?? 0;
      const length = schemaId === "order" ? Math.min(limit, VERSIONS - from) : 0;
      return Array.from({ length }, (_one, at) => versionOf(from + at + 1));
    },
  };
  const rule = { $and: [{ $events: { schema_id: "order", ...condition } }, { $events: { schema_id: "other" } }] };
  const vocabulary = await readVocabulary({ catalog } as unknown as Services, MODEL.workspace, rule);
  assert.equal(vocabulary.schema("other"), null);
  return { words: vocabulary.schema("order")!, reads };
}

describe("What a rule may say of a schema with many versions", () => {
  it("is told by the latest, without a look at the others, if that declares all that the rule names", async () => {
    const { words, reads } = await wordsOf({ where: { property_number_1: "x", total: "y" } });
    assert.deepEqual([words.declares(["property_number_1"]), words.declares(["total"]), reads], [true, true, 0]);
  });

  it("is what any version declares", async () => {
    const { words } = await wordsOf({ where: { old: "x", "old.er": 1, gone: 1 }, sum: "total" });
    assert.deepEqual(
      [["old"], ["total"], ["old", "er"], ["gone"]].map((path) => words.declares(path)),
      [true, true, false, false],
    );
    assert.equal(words.mayBeNumber(["total"]), true);
    const { words: others } = await wordsOf({ sum: "old" });
    assert.deepEqual([others.declares(["old"]), others.mayBeNumber(["old"])], [true, false]);
    const { words: operator } = await wordsOf({ sum: "$total" });
    assert.deepEqual([operator.declares(["$total"]), operator.mayBeNumber(["$total"])], [false, false]);
  });

  it("is nothing about a path with more names than an event is deep", async () => {
    const names = Array.from({ length: 65 }, () => "a");
    const { words, reads } = await wordsOf({ where: { [names.join(".")]: 1 } });
    assert.deepEqual([words.declares(names), reads], [false, 0]);
  });

  it("is looked up without holding up the event loop", async () => {
    await assertWithin(100, async () => {
      let longestMs = 0;
      let last = performance.now();
      const pulse = setInterval(() => {
        longestMs = Math.max(longestMs, performance.now() - last);
        last = performance.now();
      }, 1);
      try {
        await wordsOf({ where: { gone: 1 } });
        await new Promise((resolve) => setTimeout(resolve, 5));
      } finally {
        clearInterval(pulse);
      }
      return longestMs;
    });
  });
});
