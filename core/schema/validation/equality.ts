/**
 * Equality of JSON values, as JSON Schema means it. Ajv's own asks the values for their `valueOf` and `constructor`, which an event
 * may well hold as data, and then throws or answers wrongly.
 */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every(
    (key) =>
      Object.hasOwn(b, key) && sameJson((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]),
  );
}

/** Tells whether a value is one of these; scalars are looked up, so that a long list costs no more than a short one. */
export function memberOf(values: readonly unknown[]): (value: unknown) => boolean {
  const scalars = new Set(values.filter((value) => typeof value !== "object" || value === null));
  const others = values.filter((value) => typeof value === "object" && value !== null);
  return (value) =>
    typeof value === "object" && value !== null ? others.some((other) => sameJson(other, value)) : scalars.has(value);
}

/** The positions of the first two equal items, or null. Takes time linear to the size of the items. */
export function firstRepeat(items: readonly unknown[]): readonly [number, number] | null {
  const seen = new Map<unknown, number>();
  for (const [at, item] of items.entries()) {
    // What begins with a bracket is never the key of a string.
    const key =
      typeof item === "object" && item !== null ? canonical(item) : typeof item === "string" ? `"${item}` : item;
    const before = seen.get(key);
    if (before !== undefined) return [before, at];
    seen.set(key, at);
  }
  return null;
}

/** One text for all values that are equal, and for no others; of objects and arrays it begins with a bracket. */
export function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const members = value as Readonly<Record<string, unknown>>;
  return `{${Object.keys(members)
    .toSorted()
    .map((key) => `${JSON.stringify(key)}:${canonical(members[key])}`)
    .join(",")}}`;
}
