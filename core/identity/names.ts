import type { DropRule, Identifier } from "../event/event.js";

/** An identifier that a record names; of one that was erased only the namespace is left. */
export type ChangedIdentifier = Identifier | { readonly namespace: string; readonly erased: true };

/** What a rule kept out, as a record names it. */
export type ChangedDrop =
  | { readonly identifier: ChangedIdentifier; readonly rule: DropRule }
  | { readonly from: ChangedIdentifier; readonly to: ChangedIdentifier; readonly rule: DropRule };

/** What a record names. */
interface Names {
  readonly identifiers: readonly ChangedIdentifier[];
  readonly dropped: readonly ChangedDrop[];
}

/** How an erased identifier stands in a record. */
export const erasedName = ({ namespace }: Pick<Identifier, "namespace">): ChangedIdentifier => ({
  namespace,
  erased: true,
});

/** Whether the name still tells the value. */
export const isNamed = (one: ChangedIdentifier): one is Identifier => !("erased" in one);

/** The record without the values of those that are erased; itself if it names none. */
export function withoutErased<Record extends Names>(
  change: Record,
  isErased: (identifier: Identifier) => boolean,
): Record {
  let isAny = false;
  const hidden = (one: ChangedIdentifier): ChangedIdentifier => {
    if (!isNamed(one) || !isErased(one)) return one;
    isAny = true;
    return erasedName(one);
  };
  const identifiers = change.identifiers.map(hidden);
  const dropped = change.dropped.map((one) =>
    "identifier" in one
      ? { ...one, identifier: hidden(one.identifier) }
      : { ...one, from: hidden(one.from), to: hidden(one.to) },
  );
  return isAny ? { ...change, identifiers, dropped } : change;
}

/** All that the record names by value. */
export const namesOf = ({ identifiers, dropped }: Names): readonly Identifier[] => [
  ...identifiers.filter(isNamed),
  ...dropped.flatMap((one) => ("identifier" in one ? [one.identifier] : [one.from, one.to]).filter(isNamed)),
];
