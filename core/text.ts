const isHalf = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;

/** By code point, as UTF-8 sorts; `<` sorts by halves of surrogate pairs, which stand before the last 8,192 characters of the others. */
export function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  let same = 0;
  while (same < length && a.charCodeAt(same) === b.charCodeAt(same)) same += 1;
  if (same === length) return a.length - b.length;
  const [x, y] = [a.charCodeAt(same), b.charCodeAt(same)];
  return isHalf(x) === isHalf(y) ? x - y : isHalf(x) ? 1 : -1;
}
