/** How many of `profiles` hold a rule, and what lies within 95 %. Whole numbers. */
export interface Estimate {
  readonly count: number;
  readonly low: number;
  readonly high: number;
}

/** Of a normal distribution, for 95 %. */
const Z = 1.959964;

/**
 * Of `lookedAt` profiles that were drawn with equal chances, `held` hold the rule, and of `unsure` that is not certain. The interval is
 * Wilson's: it stays sensible where few or nearly all hold it. Source: Wilson, "Probable inference", 1927.
 */
export function estimate(held: number, unsure: number, lookedAt: number, profiles: number): Estimate {
  const least = Math.max(0, held - unsure);
  const most = Math.min(lookedAt, held + unsure);
  if (lookedAt === profiles) return { count: held, low: least, high: most };
  // What was seen is certain.
  const low = Math.max(least, Math.floor(wilson(least, lookedAt).low * profiles));
  const high = Math.min(profiles - (lookedAt - most), Math.ceil(wilson(most, lookedAt).high * profiles));
  const count = lookedAt === 0 ? 0 : Math.round((held / lookedAt) * profiles);
  return { count: Math.min(high, Math.max(low, count)), low, high };
}

function wilson(held: number, lookedAt: number): { readonly low: number; readonly high: number } {
  if (lookedAt === 0) return { low: 0, high: 1 };
  const share = held / lookedAt;
  const square = (Z * Z) / lookedAt;
  const middle = share + square / 2;
  const reach = Z * Math.sqrt((share * (1 - share) + square / 4) / lookedAt);
  return { low: Math.max(0, (middle - reach) / (1 + square)), high: Math.min(1, (middle + reach) / (1 + square)) };
}
