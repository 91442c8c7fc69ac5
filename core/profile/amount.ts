/** A sum is kept in millionths, as a whole number: exact, whatever the order of the additions. */
const DECIMALS = 6;
const DIGITS_MAX = 15;
const UNITS = 10n ** BigInt(DECIMALS);
/** The first whole number with more digits. */
const WHOLE_END = 10 ** DIGITS_MAX;

export const AMOUNT_RULE = `must have at most ${DIGITS_MAX} digits, ${DECIMALS} of them behind the point, to be added up`;

/** Whether the number is one that a sum takes: it survives the way into a double and back, so its digits are those that were sent. */
export function isAmount(value: number): boolean {
  if (Number.isInteger(value)) return value < WHOLE_END && value > -WHOLE_END;
  const text = String(Math.abs(value));
  // What is smaller than a millionth is printed with an exponent.
  if (text.includes("e")) return false;
  const [whole = "", fraction = ""] = text.split(".");
  if (fraction.length > DECIMALS) return false;
  return (whole === "0" ? 0 : whole.length) + fraction.length <= DIGITS_MAX;
}

/** Of a number that is an amount. */
export function unitsOf(value: number): bigint {
  if (Number.isInteger(value)) return BigInt(value) * UNITS;
  const [whole = "", fraction = ""] = String(value).split(".");
  return BigInt(whole + fraction.padEnd(DECIMALS, "0"));
}

/** The nearest double: up to 15 digits it is the sum itself. */
export const numberOf = (units: bigint): number => Number(`${units}e-${DECIMALS}`);
