/** The exact sum of the numbers as they are written: 0.1 and 0.2 are 0.3. The nearest double of it. */
export function addDecimals(numbers: readonly number[]): number {
  const parts = numbers.map(decimalOf);
  const exponent = parts.reduce((least, part) => Math.min(least, part.exponent), 0);
  const total = parts.reduce((sum, part) => sum + part.digits * 10n ** BigInt(part.exponent - exponent), 0n);
  return Number(`${total}e${exponent}`);
}

/** A double is printed with the fewest digits that name it, so these are the digits that were sent, up to the 15 that it keeps. */
function decimalOf(value: number): { readonly digits: bigint; readonly exponent: number } {
  const [mantissa = "", power = "0"] = String(value).split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return { digits: BigInt(whole + fraction), exponent: Number(power) - fraction.length };
}
