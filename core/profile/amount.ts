import { decimalOf, DIGITS_ALWAYS_KEPT } from "../json/number.js";

/** A sum is kept in millionths, as a whole number: exact, whatever the order of the additions. */
const DECIMALS = 6;
const UNITS = 10n ** BigInt(DECIMALS);
/** An amount is less than 10 to this, so that the double which shows a sum never becomes infinite. */
const MAGNITUDE = 300;

export const AMOUNT_RULE = `must have at most ${DIGITS_ALWAYS_KEPT} digits, ${DECIMALS} of them after the decimal point, and be less than 1e${MAGNITUDE}, to be added up`;

/** Whether a sum takes the number that the literal writes: so few digits survive the way into a double and back. */
export function isAmount(literal: string): boolean {
  const { digits, exponent } = decimalOf(literal);
  if (digits === "") return true;
  return digits.length <= DIGITS_ALWAYS_KEPT && exponent >= -DECIMALS && digits.length + exponent <= MAGNITUDE;
}

/** Of an amount. Its double is printed with the digits that were sent. */
export function unitsOf(value: number): bigint {
  if (Number.isSafeInteger(value)) return BigInt(value) * UNITS;
  const { digits, exponent } = decimalOf(String(value));
  const units = BigInt(digits) * 10n ** BigInt(exponent + DECIMALS);
  return value < 0 ? -units : units;
}

/** The nearest double: up to 15 digits it is the sum itself. */
export const numberOf = (units: bigint): number => Number(`${units}e-${DECIMALS}`);
