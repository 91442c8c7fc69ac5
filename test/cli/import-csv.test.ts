import assert from "node:assert/strict";
import { onym, useFolder } from "../support/cli.js";
import { profileOf } from "../support/sdk/client.js";
import { at, useApp, type TestWorkspace } from "../support/service/app.js";

describe("onym import csv", () => {
  const app = useApp();
  const folder = useFolder();
  let workspace: TestWorkspace;
  let key: string;
  beforeEach(async () => {
    workspace = await app().workspace();
    key = await workspace.key("admin");
  });
  const run = (...args: readonly string[]) => onym(["import", "csv", ...args], { url: app().url, key });
  const traitsOf = async (customer: string): Promise<unknown> =>
    at(await profileOf(workspace, ["customer_id", customer], 1), "traits");

  it("gives traits the type that was named, and tells the lines of other values", async () => {
    const csv =
      "id,points,vip,zip\n1,597,true,0123\n2,-1.5e2,false,\n3,many,true,1\n4,1,yes,1\n5,12345678901234567890,,1\n";
    const file = folder.file("typed.csv", csv);
    const traits = ["points:number=points", "vip:boolean=vip", "zip:text=zip"].flatMap((trait) => ["--trait", trait]);
    const args = [file, "--identifier", "id=customer_id", ...traits];
    const trial = await run(...args, "--dry-run");
    assert.match(trial.out, /^traits: points number, vip boolean, zip text$/m);
    const ran = await run(...args, "--yes");
    assert.deepEqual([ran.exit, ran.out], [1, "2 items sent: 2 accepted, 3 could not be sent\n"], ran.err);
    for (const [line, message] of [
      [4, "points: must be a number"],
      [5, "vip: must be true or false"],
      [6, "points: has more digits than a number keeps"],
    ] as const)
      for (const said of [ran.err, trial.out]) assert.ok(said.includes(`typed.csv:${line}: ${message}`), said);
    assert.deepEqual(await traitsOf("1"), { points: 597, vip: true, zip: "0123" });
    assert.deepEqual(await traitsOf("2"), { points: -150, vip: false });
  });

  it("takes a trait for text where no type is named, and says so before", async () => {
    const file = folder.file("text.csv", "id,points\n1,597\n");
    const args = [file, "--identifier", "id=customer_id", "--trait", "points=points"];
    assert.match((await run(...args, "--dry-run")).out, /^traits: points text$/m);
    await run(...args, "--yes");
    assert.deepEqual(await traitsOf("1"), { points: "597" });
  });

  it("shows of how many rows it foresees that they would be refused", async () => {
    const schemaId = await workspace.schema();
    const args = ["--schema", schemaId, "--timestamp", "at", "--field", "mail=unknown", "--dry-run"];
    for (const [rows, says] of [
      [60, /^would be refused or quarantined: 60$/m],
      [61, /^would be refused or quarantined: 60 of the first 60, the only ones that were checked$/m],
    ] as const) {
      const file = folder.file("rows.csv", `mail,at\n${"x,2025-01-31T12:00:00Z\n".repeat(rows)}`);
      assert.match((await run(file, ...args)).out, says);
    }
  });
});
