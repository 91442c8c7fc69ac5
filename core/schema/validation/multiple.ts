/**
 * Tells the multiples of a number above 0, both taken as they are written: in floating point 19.99 / 0.01 is 1998.9999999999998. A
 * number has at most 17 digits and an exponent of three, so the work is bounded.
 */
export function multiplesOf(divisor: number): (value: number) => boolean {
  const whole = Number.isSafeInteger(divisor);
  const by = decimalOf(divisor);
  return (value) => {
    if (whole && Number.isSafeInteger(value)) return value % divisor === 0;
    if (!Number.isFinite(value)) return false;
    const given = decimalOf(value);
    const exponent = Math.min(given.exponent, by.exponent);
    return scaled(given, exponent) % scaled(by, exponent) === 0n;
  };
}

/** `digits` times 10 to the `exponent`. */
interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

/** Of the shortest text that means the number, which is the literal for up to 15 digits. */
function decimalOf(value: number): Decimal {
  const [mantissa, exponent] = value.toExponential().split("e") as [string, string];
  const [whole, fraction = ""] = mantissa.split(".") as [string, string?];
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

const scaled = ({ digits, exponent }: Decimal, to: number): bigint => digits * 10n ** BigInt(exponent - to);
