/** Numbers are added up exactly, as they are written: 0.1 and 0.2 are 0.3. */
export interface DecimalSum {
  add(value: number): void;
  /** The nearest finite double: a sum may be added up again. */
  total(): number;
}

export function createDecimalSum(): DecimalSum {
  // A sum for each exponent: to bring each number to the same one takes a power of ten of up to 600 digits.
  const sums = new Map<number, bigint>();
  let whole = 0;
  const add = (digits: bigint, exponent: number): void => void sums.set(exponent, (sums.get(exponent) ?? 0n) + digits);
  return {
    add: (value) => {
      if (Number.isSafeInteger(value) && Number.isSafeInteger(whole + value)) whole += value;
      else {
        const { digits, exponent } = decimalOf(value);
        add(digits, exponent);
      }
    },
    total: () => {
      add(BigInt(whole), 0);
      whole = 0;
      const least = Math.min(...sums.keys());
      let total = 0n;
      for (const [exponent, sum] of sums) total += sum * 10n ** BigInt(exponent - least);
      return Math.min(Math.max(Number(`${total}e${least}`), -Number.MAX_VALUE), Number.MAX_VALUE);
    },
  };
}

export function addDecimals(numbers: readonly number[]): number {
  const sum = createDecimalSum();
  for (const value of numbers) sum.add(value);
  return sum.total();
}

/** A double is printed with the fewest digits that name it, so these are the digits that were sent, up to the 15 that it keeps. */
function decimalOf(value: number): { readonly digits: bigint; readonly exponent: number } {
  const text = String(value);
  const power = text.indexOf("e");
  const mantissa = power < 0 ? text : text.slice(0, power);
  const point = mantissa.indexOf(".");
  const fraction = point < 0 ? "" : mantissa.slice(point + 1);
  const digits = point < 0 ? mantissa : mantissa.slice(0, point) + fraction;
  return { digits: BigInt(digits), exponent: (power < 0 ? 0 : Number(text.slice(power + 1))) - fraction.length };
}
