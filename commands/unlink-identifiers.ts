import { mismatch, type ErrorItem } from "../core/errors.js";
import type { Identifier } from "../core/event/event.js";
import type { Explanation, UndoResult, UnlinkRequest } from "../core/identity/api.js";
import type { NamespaceTable } from "../core/identity/namespaces.js";
import type { WorkspaceId } from "../core/ids.js";
import { admitEach, admitPair, withoutBlocked } from "./admit-identifiers.js";
import type { Caller, Services } from "./services.js";

/** Unlinks one identifier from all others, or two from each other. */
export interface GivenUnlink {
  readonly identifier?: Identifier;
  readonly from?: Identifier;
  readonly to?: Identifier;
  readonly forbid?: boolean;
}

/** Throws `still_joined` when a pair is to be forbidden that other links hold together. */
export async function unlinkIdentifiers(
  { catalog, identity }: Pick<Services, "catalog" | "identity">,
  { workspace, keyId, now }: Caller,
  given: GivenUnlink,
  options: { readonly dryRun: boolean },
): Promise<UndoResult> {
  const request = requestOf(given, withoutBlocked(await catalog.namespaces(workspace)));
  return identity.unlink(workspace, request, { source: "unlink", keyId, at: now }, options);
}

function requestOf(given: GivenUnlink, table: NamespaceTable): UnlinkRequest {
  const errors = formErrors(given);
  if (errors.length > 0) throw mismatch(errors);
  if (given.identifier !== undefined) {
    const { identifiers } = admitEach([{ path: "identifier", ...given.identifier }], table);
    return { identifier: identifiers[0]! };
  }
  const sides = [
    { path: "from", ...given.from! },
    { path: "to", ...given.to! },
  ] as const;
  const [from, to] = admitPair(sides, table).identifiers;
  return { from, to, forbid: given.forbid ?? false };
}

/** Never both forms: that would be ambiguous. */
function formErrors({ identifier, from, to, forbid }: GivenUnlink): readonly ErrorItem[] {
  const pair = { from, to, forbid };
  const given = Object.entries(pair).flatMap(([path, value]) => (value === undefined ? [] : [path]));
  if (identifier !== undefined)
    return given.map((path) => ({ path, message: "is not allowed together with identifier" }));
  if (given.length === 0) return [{ path: "identifier", message: "is required, or both from and to" }];
  return ["from", "to"].filter((path) => !given.includes(path)).map((path) => ({ path, message: "is required" }));
}

/** Why the two are one person, or that they are not. */
export async function explainIdentifiers(
  { catalog, identity }: Pick<Services, "catalog" | "identity">,
  workspace: WorkspaceId,
  { from, to }: Readonly<Record<"from" | "to", Identifier>>,
): Promise<Explanation> {
  const named = [
    { path: "from", ...from },
    { path: "to", ...to },
  ];
  const { identifiers } = admitEach(named, withoutBlocked(await catalog.namespaces(workspace)));
  return identity.explain(workspace, identifiers[0]!, identifiers[1]!);
}
