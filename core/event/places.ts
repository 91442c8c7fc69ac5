/**
 * Of all the places that an event carries with it: a few bytes of a payload can stand at thousands of long paths, and a request has
 * thousands of small events. `PER_BYTE`: what one letter at a usual path takes.
 */
const [CHARACTERS_MIN, CHARACTERS_MAX, PER_BYTE] = [2_048, 32_768, 4];

/**
 * Each place once, of a payload of so many bytes. The empty one alone, which is the whole payload, if it is among them or they are longer
 * than an event may carry.
 */
export function boundedPlaces(places: Iterable<string>, bytes: number): readonly string[] {
  const max = Math.min(CHARACTERS_MAX, Math.max(CHARACTERS_MIN, bytes * PER_BYTE));
  const known = new Set(places);
  let characters = 0;
  for (const place of known) characters += place.length;
  return known.has("") || characters > max ? [""] : [...known];
}

/** The parts that follow, by name; null: a place ends here. */
type Parts = Map<string, Parts> | null;

/** Finds the outermost of these places that a path is at or below; null: there is none. Takes as long for many places as for one. */
export function outermostOf(places: readonly string[]): (path: string) => string | null {
  if (places.includes("")) return () => "";
  const first: Parts = new Map();
  for (const place of places) addPlace(first, place);
  return (path) => {
    let parts: Map<string, Parts> = first;
    for (let start = 0; ;) {
      const dot = path.indexOf(".", start);
      const end = dot < 0 ? path.length : dot;
      const next = parts.get(path.slice(start, end));
      if (next === null) return path.slice(0, end);
      if (next === undefined || dot < 0) return null;
      [parts, start] = [next, end + 1];
    }
  };
}

/** What is below another place is not added. */
function addPlace(first: Map<string, Parts>, place: string): void {
  const names = place.split(".");
  const last = names.pop()!;
  let parts = first;
  for (const name of names) {
    const next = parts.get(name);
    if (next === null) return;
    const below = next ?? new Map<string, Parts>();
    if (next === undefined) parts.set(name, below);
    parts = below;
  }
  parts.set(last, null);
}
