/**
 * Of all the places that an event carries with it: a few bytes of a payload can stand at thousands of long paths, and a request has
 * thousands of small events. `PER_BYTE`: what one letter at a usual path takes.
 */
const [CHARACTERS_MIN, CHARACTERS_MAX, PER_BYTE] = [2_048, 32_768, 4];

/**
 * Each place once, of a payload of so many bytes. If they are longer than an event may carry, those above the deepest stand for these, and
 * so on: at last the empty one, which is the whole payload. It stands alone.
 */
export function boundedPlaces(places: Iterable<string>, bytes: number): readonly string[] {
  const max = Math.min(CHARACTERS_MAX, Math.max(CHARACTERS_MIN, bytes * PER_BYTE));
  const levels: Set<string>[] = [];
  let characters = 0;
  const add = (place: string): void => {
    const level = (levels[place === "" ? 0 : place.split(".").length] ??= new Set());
    if (!level.has(place)) characters += place.length;
    level.add(place);
  };
  for (const place of places) add(place);
  while (characters > max) {
    const deepest = levels.pop() ?? [];
    for (const place of deepest) characters -= place.length;
    for (const place of deepest) add(place.slice(0, Math.max(0, place.lastIndexOf("."))));
  }
  return levels[0] === undefined ? levels.flatMap((level) => Array.from(level)) : [""];
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
