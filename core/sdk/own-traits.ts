import { memberOf } from "./envelope.js";

interface FoundTrait {
  readonly path: string;
  readonly open: boolean;
}

const CONTEXT = "context.traits.";

/**
 * The places of traits in the context of an item whose names its own `traits` have too: some SDKs send there what they remember of the
 * user, which may be older than what the call says.
 */
export function rememberedTraits(payload: unknown, traits: readonly FoundTrait[]): ReadonlySet<string> {
  const own = memberOf(payload, "traits");
  const isOwn = (name: string): boolean => typeof own === "object" && own !== null && Object.hasOwn(own, name);
  const places = traits.flatMap(({ path, open }) =>
    open && path.startsWith(CONTEXT) && isOwn(path.slice(CONTEXT.length)) ? [path] : [],
  );
  return new Set(places);
}
