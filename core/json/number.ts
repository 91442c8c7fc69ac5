const ZERO = 0x30;
const NINE = 0x39;
/** Any decimal number of so many digits survives the way into a double and back. */
export const DIGITS_ALWAYS_KEPT = 15;

/**
 * Whether a double changes the number that a JSON literal writes: an integer that it neither holds exactly nor prints back the
 * same, or any number that it makes infinite or zero. Fractions may be rounded: no decimal fraction promises more digits.
 */
export function isUnsafeNumber(literal: string): boolean {
  const value = Number(literal);
  const survives = value !== 0 && Number.isFinite(value);
  // The usual cases first: few digits, or no integer beyond those that are all held exactly.
  if (survives && (literal.length <= DIGITS_ALWAYS_KEPT || Math.abs(value) <= Number.MAX_SAFE_INTEGER)) return false;
  const written = decimalOf(literal);
  if (written.digits === "") return false;
  if (!survives) return true;
  if (written.exponent < 0) return false;
  return !isPrintedBack(written, value) && !isExact(written, value);
}

/**
 * Whether a number of the text may have more digits than a double keeps; what looks like such a number in a string counts too. A run that
 * is longer than `DIGITS_ALWAYS_KEPT` covers one of the bytes that are so far apart, so only those are looked at.
 */
export function mayHoldLongNumber(body: Buffer): boolean {
  for (let at = DIGITS_ALWAYS_KEPT; at < body.length; at += DIGITS_ALWAYS_KEPT + 1) {
    if (!isNumberByte(body[at]!)) continue;
    let [start, end] = [at, at + 1];
    while (start > 0 && isNumberByte(body[start - 1]!)) start -= 1;
    while (end < body.length && isNumberByte(body[end]!)) end += 1;
    if (end - start > DIGITS_ALWAYS_KEPT) return true;
  }
  return false;
}

/** `digits`, an integer without zeros at either end, times ten to the `exponent`. The sign is left out. */
export interface Decimal {
  readonly digits: string;
  readonly exponent: number;
}

export function decimalOf(literal: string): Decimal {
  const [mantissa = "", power = "0"] = literal.split(/e/i);
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const digits = whole + fraction;
  // Loops, because the regular expression for trailing zeros is quadratic on a hostile literal.
  let start = 0;
  let end = digits.length;
  while (start < end && digits.charCodeAt(start) === ZERO) start += 1;
  while (end > start && digits.charCodeAt(end - 1) === ZERO) end -= 1;
  return { digits: digits.slice(start, end), exponent: Number(power) - fraction.length + (digits.length - end) };
}

/** Both are integers, and a finite double has at most 309 digits, so this stays small. */
const isExact = ({ digits, exponent }: Decimal, value: number): boolean =>
  BigInt(digits) * 10n ** BigInt(exponent) === BigInt(Math.abs(value));

/** 1e300 is no double, yet every reader and writer of doubles agrees on it. */
function isPrintedBack(written: Decimal, value: number): boolean {
  const printed = decimalOf(String(value).replace("+", ""));
  return printed.digits === written.digits && printed.exponent === written.exponent;
}

/** Bytes that a number literal is made of. */
export const isNumberByte = (byte: number): boolean =>
  (byte >= ZERO && byte <= NINE) || byte === 0x2e || byte === 0x2d || byte === 0x2b || byte === 0x65 || byte === 0x45;
