/** What a quantity does over the minutes of a run. */
export interface Slope {
  /** Its change over the whole run, in parts of its mean: 0.1 is ten percent up. */
  readonly growth: number;
  /** The same at the lower end of the slope's interval of 95 %. */
  readonly surely: number;
}

/** Of ordinary least squares. */
const SIGMAS = 2;

/** Needs three values at least, one for each minute. */
export function slopeOf(values: readonly number[]): Slope {
  const count = values.length;
  const meanOf = (list: readonly number[]): number => list.reduce((sum, value) => sum + value, 0) / list.length;
  const [middle, mean] = [(count - 1) / 2, meanOf(values)];
  const spread = values.reduce((sum, _, minute) => sum + (minute - middle) ** 2, 0);
  const slope = values.reduce((sum, value, minute) => sum + (minute - middle) * (value - mean), 0) / spread;
  const residuals = values.reduce((sum, value, minute) => sum + (value - mean - slope * (minute - middle)) ** 2, 0);
  const error = Math.sqrt(residuals / (count - 2) / spread);
  const inParts = (perMinute: number): number => (mean === 0 ? 0 : (perMinute * (count - 1)) / mean);
  return { growth: inParts(slope), surely: inParts(slope - SIGMAS * error) };
}
