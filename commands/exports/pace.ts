/** So much text is read at a time, about. */
const BYTES_PER_READ = 262_144;

export interface Pace {
  /** As many as have room where each is as large as it may be. */
  readonly least: number;
  /** No more, because small ones do not say that the next ones are small. */
  readonly most: number;
}

/** How many to read next, by what those that came last had. */
export const nextLimit = ({ least, most }: Pace, came: number, bytes: number): number =>
  Math.max(least, Math.min(most, Math.floor((BYTES_PER_READ * came) / Math.max(1, bytes))));
