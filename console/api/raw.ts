/** A string, or what begins, parts or ends something. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]/g;

/** What stands between the outermost brackets of JSON text, cut at its commas. */
function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === "{" || token === "[") {
      depth += 1;
      if (depth === 1) from = index + 1;
    } else if (token === "}" || token === "]") {
      depth -= 1;
      if (depth === 0) parts.push(text.slice(from, index));
    } else if (token === "," && depth === 1) {
      parts.push(text.slice(from, index));
      from = index + 1;
    }
  }
  return parts.length === 1 && parts[0]!.trim() === "" ? [] : parts;
}

/** The items of a JSON array, each as it stands there: read and written again, numbers would lose digits. */
export const rawItems = (text: string): readonly string[] => partsOf(text).map((part) => part.trim());

/** The same of the members of a JSON object. */
export function rawMembers(text: string): ReadonlyMap<string, string> {
  return new Map(
    partsOf(text).map((part) => {
      const [name = ""] = /"[^"\\]*(?:\\.[^"\\]*)*"/.exec(part) ?? [];
      return [JSON.parse(name) as string, part.slice(part.indexOf(":", part.indexOf(name) + name.length) + 1).trim()];
    }),
  );
}

/** An event or a dead letter whose payload is the text that was sent. */
export const withPayload = <Shown>(text: string): Shown =>
  ({ ...(JSON.parse(text) as object), payload: rawMembers(text).get("payload") ?? "null" }) as Shown;

/** A page of events, each of them so. */
export const withPayloads = <Page>(text: string): Page =>
  ({
    ...(JSON.parse(text) as object),
    events: rawItems(rawMembers(text).get("events") ?? "[]").map((item) => withPayload(item)),
  }) as Page;
