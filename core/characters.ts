/** Characters are code points, as JSON Schema counts them: an emoji is one, though it has two code units. */
export function hasMoreCharacters(text: string, max: number): boolean {
  if (text.length <= max || text.length > 2 * max) return text.length > max;
  let count = 0;
  for (const _ of text) count += 1;
  return count > max;
}
