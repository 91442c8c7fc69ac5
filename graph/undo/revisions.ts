import type { IdentifierKey, ProfileId } from "../../core/ids.js";
import type { Component, Snapshot, Plan, SeenComponent } from "../../core/identity/model.js";

/**
 * What was read of profiles, and what own steps made of them since. A step raises the `rev` of a profile by one, beyond those that it
 * was made of; a graph that raises it by more is read again before each step.
 */
export interface Revs {
  /** Nobody else wrote anything of the profiles of these. */
  readonly hold: (keys: readonly IdentifierKey[], now: Snapshot) => boolean;
  /** What an own step wrote, from the snapshot that it had. */
  readonly wrote: (plan: Plan, now: Snapshot) => void;
}

export function createRevs(seen: Snapshot): Revs {
  const revs = new Map<ProfileId, number>();
  for (const { profileId, rev } of seen.components.values()) revs.set(profileId, rev);

  const replace = (made: readonly SeenComponent[], into: readonly { readonly profileId: ProfileId }[]): void => {
    const rev = 1 + made.reduce((most, one) => Math.max(most, one.rev), 0);
    for (const { profileId } of made) revs.delete(profileId);
    for (const { profileId } of into) revs.set(profileId, rev);
  };
  return {
    hold: (keys, now) =>
      keys.every((key) => {
        const seat = now.identifiers.get(key);
        if (seat === undefined) return false;
        const { profileId, rev } = now.components.get(seat.component)!;
        return revs.get(profileId) === rev;
      }),
    wrote: ({ components, splits, removes }, { identifiers, components: before }) => {
      const whole = new Set<Component>();
      for (const { pair } of removes) for (const key of pair) whole.add(identifiers.get(key)?.component ?? NOWHERE);
      for (const { component, stays, parts } of splits) {
        replace([before.get(component)!], [stays, ...parts]);
        whole.delete(component);
      }
      for (const one of components) {
        const origins = [...(one.into === null ? [] : [one.into]), ...one.absorbed];
        replace(
          origins.map((component) => before.get(component)!),
          [one],
        );
      }
      for (const component of whole) {
        const one = before.get(component);
        if (one !== undefined) replace([one], [one]);
      }
    },
  };
}

const NOWHERE: Component = "";
