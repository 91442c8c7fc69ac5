import { isObject, isSchema, type Schema, type SchemaObject } from "../keywords.js";
import type { Comparison } from "./comparison.js";

/** The schemas of the previous version that judge one object, the one that is compared first. */
type Judges = readonly SchemaObject[];
type Matching = Pick<Comparison, "matches">;

export const mapOf = (value: unknown): SchemaObject => (isObject(value) ? value : {});
const restOf = (schema: SchemaObject): unknown => schema["additionalProperties"] ?? schema["unevaluatedProperties"];

/** The schemas that judge the property of this name. A part that says nothing of the other names takes everything. */
export function membersNamed({ matches }: Matching, judges: Judges, name: string): readonly Schema[] {
  return judges
    .flatMap((one) => {
      const [listed, patterns] = [mapOf(one["properties"]), mapOf(one["patternProperties"])];
      const own = Object.keys(patterns).filter((pattern) => matches(pattern, name));
      const found = own.map((pattern) => patterns[pattern]);
      if (Object.hasOwn(listed, name)) found.push(listed[name]);
      else if (own.length === 0 && isObject(restOf(one))) found.push(restOf(one));
      return found;
    })
    .filter(isSchema);
}

/** The schemas that judge what is under this pattern. */
export function membersUnder({ matches }: Matching, judges: Judges, pattern: string): readonly Schema[] {
  const isNew = !Object.hasOwn(mapOf(judges[0]?.["patternProperties"]), pattern);
  return judges
    .flatMap((one, at) => {
      const [listed, patterns] = [mapOf(one["properties"]), mapOf(one["patternProperties"])];
      const names = Object.keys(listed).filter((name) => matches(pattern, name));
      const found = names.map((name) => listed[name]);
      // Whether two patterns are of one name is not looked into: of a new one it is assumed.
      found.push(...(isNew ? Object.values(patterns) : [patterns[pattern]]));
      // Only the first is asked what it says of all others: a part that says nothing takes everything.
      if (at === 0 && isNew) found.push(one["additionalProperties"] ?? true);
      else if (at > 0 && !Object.hasOwn(patterns, pattern) && isObject(restOf(one))) found.push(restOf(one));
      return found;
    })
    .filter(isSchema);
}

/** The schemas of all but the first that judge what the first one lists neither by name nor by pattern. */
export function otherMembers({ matches }: Matching, [first, ...others]: Judges): readonly Schema[] {
  const names = mapOf(first?.["properties"]);
  const own = mapOf(first?.["patternProperties"]);
  const isListed = (name: string): boolean =>
    Object.hasOwn(names, name) || Object.keys(own).some((pattern) => matches(pattern, name));
  return others
    .flatMap((one) => {
      const [listed, patterns] = [mapOf(one["properties"]), mapOf(one["patternProperties"])];
      const found = Object.keys(listed).flatMap((name) => (isListed(name) ? [] : [listed[name]]));
      for (const pattern of Object.keys(patterns)) if (!Object.hasOwn(own, pattern)) found.push(patterns[pattern]);
      return [...found, restOf(one)];
    })
    .filter(isSchema);
}
