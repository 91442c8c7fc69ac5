/** What differs between two JSON values, a line each: `+` only the second has it, `-` only the first, `~` both, but not alike. */
export function differences(one: unknown, other: unknown, at = ""): readonly string[] {
  if (isObject(one) && isObject(other)) {
    const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].toSorted();
    return names.flatMap((name) => {
      const place = at === "" ? name : `${at}.${name}`;
      if (!Object.hasOwn(other, name)) return [`- ${place}`];
      if (!Object.hasOwn(one, name)) return [`+ ${place}: ${JSON.stringify(other[name])}`];
      return differences(one[name], other[name], place);
    });
  }
  const [before, after] = [JSON.stringify(one), JSON.stringify(other)];
  return before === after ? [] : [`~ ${at}: ${before} -> ${after}`];
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
