/** Of all the places that an event carries with it: a few bytes of a payload can stand at thousands of long paths. */
const CHARACTERS_MAX = 32_768;

/** Each place once. The empty one alone, which is the whole payload, if it is among them or they are longer than an event may carry. */
export function boundedPlaces(places: Iterable<string>): readonly string[] {
  const known = new Set(places);
  let characters = 0;
  for (const place of known) characters += place.length;
  return known.has("") || characters > CHARACTERS_MAX ? [""] : [...known];
}

/** Finds the outermost of these places that a path is at or below; null: there is none. Takes as long for many places as for one. */
export function outermostOf(places: readonly string[]): (path: string) => string | null {
  const known = new Set(places);
  // To hash each part of a long path would take the square of its length.
  const lengths = new Set(places.map(({ length }) => length));
  return (path) => {
    if (known.has("")) return "";
    for (let end = path.indexOf("."); ; end = path.indexOf(".", end + 1)) {
      const length = end < 0 ? path.length : end;
      const part = lengths.has(length) ? path.slice(0, length) : null;
      if (part !== null && known.has(part)) return part;
      if (end < 0) return null;
    }
  };
}
