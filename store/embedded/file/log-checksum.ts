/** SQLite's running checksum of its log, over words in the byte order that the head names. */
export type Sums = readonly [number, number];

export function checksumOfLog([first, second]: Sums, bytes: Buffer, bigEndian: boolean): Sums {
  let [one, two] = [first, second];
  for (let at = 0; at < bytes.length; at += 8) {
    one = (one + (bigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + two) >>> 0;
    two = (two + (bigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + one) >>> 0;
  }
  return [one, two];
}

/** The checksum behind a frame: of its page number, its size of the database, and its page. */
export const advance = (before: Sums, frame: Buffer, bigEndian: boolean): Sums =>
  checksumOfLog(checksumOfLog(before, frame.subarray(0, 8), bigEndian), frame.subarray(24), bigEndian);

/** Whether a frame that is wrong would be right with one bit of it changed. */
export function isBitFlip(before: Sums, frame: Buffer, salts: Buffer, bigEndian: boolean): boolean {
  const sums = advance(before, frame, bigEndian);
  const kept: Sums = [frame.readUInt32BE(16), frame.readUInt32BE(20)];
  const saltBits =
    bitsBetween(frame.readUInt32BE(8), salts.readUInt32BE(0)) +
    bitsBetween(frame.readUInt32BE(12), salts.readUInt32BE(4));
  const sumBits = bitsBetween(sums[0], kept[0]) + bitsBetween(sums[1], kept[1]);
  if (saltBits + sumBits === 1) return true;
  return saltBits === 0 && isSumOfFlip((kept[0] - sums[0]) >>> 0, (kept[1] - sums[1]) >>> 0, (frame.length - 16) / 8);
}

function bitsBetween(one: number, other: number): number {
  let bits = 0;
  for (let rest = (one ^ other) >>> 0; rest !== 0; rest = (rest & (rest - 1)) >>> 0) bits += 1;
  return bits;
}

/** A bit of a word adds or takes a power of two, times how much the word counts in both sums; a word in front counts more often. */
function isSumOfFlip(first: number, second: number, pairs: number): boolean {
  let [x, y, u, v] = [1, 1, 0, 1];
  const fits = (a: number, b: number): boolean => {
    for (let bit = 0; bit < 32; bit += 1) {
      const [p, q] = [Math.imul(a, 2 ** bit) >>> 0, Math.imul(b, 2 ** bit) >>> 0];
      if ((p === first && q === second) || (-p >>> 0 === first && -q >>> 0 === second)) return true;
    }
    return false;
  };
  for (let pair = 0; pair < pairs; pair += 1) {
    if (fits(x, y) || fits(u, v)) return true;
    [x, y] = [(x + y) >>> 0, (x + 2 * y) >>> 0];
    [u, v] = [(u + v) >>> 0, (u + 2 * v) >>> 0];
  }
  return false;
}
