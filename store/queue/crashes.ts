/** How often a process has died on a message that is handled alone from then on. */
export const ALONE_FROM = 2;
/** What a process died on once is handled in batches of so many at most: if one of them kills the next process, so many are handled alone. */
export const TOGETHER_MAX = 16;

export const goesAlone = ({ crashes }: { readonly crashes: number }): boolean => crashes >= ALONE_FROM;

/**
 * The crashes of a message that came back, as it is known from the count in its copy and from how often the broker took it back. What could
 * not be copied has no count; it may have been given back by workers that stopped in order, so more than what makes it go alone is not said.
 */
export const crashesOnReturn = (counted: number, returns: number): number =>
  Math.max(counted + 1, Math.min(returns, ALONE_FROM));
