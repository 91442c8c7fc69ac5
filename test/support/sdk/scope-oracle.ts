/** What one item says: identifiers by their short names, `user_id:ann`. */
export type Item = readonly string[];
export const PERSONS = ["user_id", "email"];
/** By priority. */
export const ORDER = ["user_id", "email", "device_id", "anonymous_id", "cookie_id"];

export const namespaceOf = (name: string): string => name.slice(0, name.indexOf(":"));
export const isPerson = (name: string): boolean => PERSONS.includes(namespaceOf(name));

/**
 * Who is one person after the calls, by other means than the service's: sets of names, and one question. Customers are people who differ
 * in a value of a person's namespace, so no two sets that both have one become one.
 */
export function createOracle(customers: readonly Item[]) {
  const people = customers.map((names) => new Set(names));
  const personOf = (name: string): Set<string> => {
    const known = people.find((person) => person.has(name));
    if (known !== undefined) return known;
    const own = new Set([name]);
    people.push(own);
    return own;
  };
  const differ = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
    PERSONS.some((namespace) =>
      [one, other].every((side) => [...side].some((name) => namespaceOf(name) === namespace)),
    );
  const rank = (name: string): number => ORDER.indexOf(namespaceOf(name));
  return {
    people,
    hear: (item: Item): void => {
      const [first, ...others] = [...new Set(item)].toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
      if (first === undefined) return;
      const self = personOf(first);
      for (const name of others) {
        if (self.has(name)) continue;
        // A second name of the item itself is not even looked at.
        if (isPerson(name) && item.some((one) => one !== name && one < name && namespaceOf(one) === namespaceOf(name)))
          continue;
        const other = people.find((person) => person.has(name)) ?? new Set([name]);
        if (differ(self, other)) continue;
        for (const one of other) self.add(one);
        if (people.includes(other)) people.splice(people.indexOf(other), 1);
      }
    },
  };
}
