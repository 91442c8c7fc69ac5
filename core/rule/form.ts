import type { PathTest, Tally } from "./rule.js";

/** Known forms, because a rule is compiled once and asked often. */
const forms = new WeakMap<Tally, string>();

/** The same text for tallies that count the same events in the same way, however they were written. */
export function formOf(tally: Tally): string {
  const known = forms.get(tally);
  if (known !== undefined) return known;
  const tests = [...new Set(tally.where.map(textOf))].toSorted();
  const form = JSON.stringify([tally.schemaId, tests, tally.sum]);
  forms.set(tally, form);
  return form;
}

function textOf({ path, test }: PathTest): string {
  if (!("values" in test)) return JSON.stringify([path, test.op, "offset" in test ? test.offset : test.value]);
  const values = [...new Set(test.values.map((value) => JSON.stringify(value)))].toSorted();
  return JSON.stringify([path, test.op, values]);
}
