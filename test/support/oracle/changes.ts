import assert from "node:assert/strict";
import { at, listAt, textAt } from "../service/app.js";
import { identifierOfName } from "../trust/model.js";
import { bind, bindAll, nameIn, pages, showDropped, type Bench } from "./bench.js";

/** The records of changes are those of the model, in its order. Then the service's ids of all of them are known. */
export async function alignChanges(bench: Bench): Promise<void> {
  if (bench.mode === "together") return;
  const { changes } = bench.truth.trust;
  const listed = (await pages(bench, "/v1/changes", "changes", 100)).toReversed();
  const shown = listed.map((one) => `${textAt(one, "outcome")} ${listAt(one, "identifiers").map(nameIn).join(" ")}`);
  assert.deepEqual(
    shown,
    changes.map(({ outcome, names }) => `${outcome} ${names.map((name) => showName(name)).join(" ")}`),
    "changes",
  );
  for (const [i, change] of changes.entries()) {
    bind(bench, change.changeId, textAt(listed[i], "change_id"));
    const { realOf } = bench;
    for (const side of ["before", "after"] as const) bindAll(bench, change[side], listAt(listed[i], side).map(String));
    assert.deepEqual(showDropped(listAt(listed[i], "dropped")), change.dropped);
    assert.equal(at(listed[i], "rule") ?? null, change.rule);
    const reverts = change.reverts === null ? undefined : realOf.get(change.reverts);
    assert.equal(at(listed[i], "reverts"), reverts);
    assert.equal(at(listed[i], "forbid") ?? false, change.isForbidding);
  }
}

const showName = (name: string): string => nameIn(identifierOfName(name));
