import { identifierKey } from "../core/event.js";
import { newId, type ChangeId, type IdentifierKey, type Uid, type WorkspaceId } from "../core/ids.js";
import type { Assertion, Identity, Picture, ProfileRef, Verdict, Want } from "../core/identity.js";
import type { IdentityGraph } from "../core/ports.js";
import { createDeadline } from "./deadline.js";
import { createLane, type Call, type LaneOptions } from "./lane.js";
import { repeated, type Request } from "./rules.js";
import { lookupsOf, wantOf, wantOfAll } from "./want.js";

export interface IdentityDeps {
  readonly graph: IdentityGraph;
  /** A call that takes longer is answered `unavailable`; what it asserted may still come to stand. */
  readonly timeoutMs: number;
  readonly lane?: Partial<LaneOptions>;
  readonly newUid?: () => Uid;
  readonly newChangeId?: () => ChangeId;
}

/** The only public face of `graph/`: repeats and look-ups from a read without a lock, all else through the lane. */
export function createIdentity(deps: IdentityDeps): Identity {
  const { graph, timeoutMs, newUid = newId<Uid>, newChangeId = newId<ChangeId> } = deps;
  const lane = createLane(graph, deps.lane);
  const within = createDeadline(timeoutMs, "The identity graph did not answer in time.");

  const request = (assertion: Assertion, keys: readonly IdentifierKey[]): Request => ({
    assertion,
    keys,
    uids: keys.map(newUid),
    changeId: newChangeId(),
  });
  /** The verdicts on the repeats in front of the first change: a repeat behind it must see it. */
  const readRepeats = async (workspace: WorkspaceId, wants: readonly Want[]): Promise<readonly Verdict[]> => {
    const verdicts: Verdict[] = [];
    while (verdicts.length < wants.length) {
      const step = headOf(wants, verdicts.length);
      const repeats = leadingRepeats(await graph.read(workspace, wantOfAll(step)), step);
      verdicts.push(...repeats);
      if (repeats.length < step.length) break;
    }
    return verdicts;
  };
  const assertAll = async (workspace: WorkspaceId, assertions: readonly Assertion[], call: Call) => {
    const keys = assertions.map(({ identifiers }) => identifiers.map((one) => identifierKey(workspace, one)));
    const answered = await readRepeats(workspace, keys.map(wantOf));
    const left = assertions.slice(answered.length).map((one, i) => request(one, keys[answered.length + i]!));
    return left.length === 0 ? answered : [...answered, ...(await lane.assert(workspace, left, call))];
  };

  return {
    assert: async (workspace, assertion) => (await within((call) => assertAll(workspace, [assertion], call)))[0]!,
    assertAll: (workspace, assertions) => within((call) => assertAll(workspace, assertions, call)),
    resolve: (workspace, profileId) => within(() => graph.resolve(workspace, profileId)),
    lookup: (workspace, identifiers) =>
      within(async (call) => {
        const keys = identifiers.map((one) => identifierKey(workspace, one));
        const want = { keys: [...new Set(keys)], pairs: [] };
        const seen = profilesOf(await graph.read(workspace, want), keys);
        // A read without a lock may miss what a step moves just then, so only the lane says "unknown".
        return seen.includes(null) ? profilesOf(await lane.look(workspace, want, call), keys) : seen;
      }),
    members: (workspace, profileId, page) => within(() => graph.members(workspace, profileId, page)),
  };
}

/** A read looks at no more than this, so that it blocks nobody for long. */
const LOOKUPS_PER_READ = 2_048;

/** The wants from a position on that one read may cover; at least one. */
function headOf(wants: readonly Want[], from: number): readonly Want[] {
  let end = from + 1;
  for (let lookups = lookupsOf(wants[from]!); end < wants.length; end++) {
    lookups += lookupsOf(wants[end]!);
    if (lookups > LOOKUPS_PER_READ) break;
  }
  return wants.slice(from, end);
}

function leadingRepeats(picture: Picture, wants: readonly Want[]): readonly Verdict[] {
  const verdicts: Verdict[] = [];
  for (const { keys } of wants) {
    const verdict = repeated(picture, keys);
    if (verdict === null) break;
    verdicts.push(verdict);
  }
  return verdicts;
}

const profilesOf = (picture: Picture, keys: readonly IdentifierKey[]): readonly (ProfileRef | null)[] =>
  keys.map((key) => {
    const component = picture.identifiers.get(key)?.component;
    return (component === undefined ? undefined : picture.components.get(component)) ?? null;
  });
