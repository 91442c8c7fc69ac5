import {
  AUDIENCES_MAX,
  audienceWords,
  dependentsOf,
  newBuild,
  NO_AUDIENCES,
  referrersOf,
  tooLarge,
  withAudience,
  type Audience,
  type AudienceSet,
} from "../../core/audience/audience.js";
import { retentionsOf } from "../../core/catalog/retention.js";
import { AppError, mismatch } from "../../core/errors.js";
import { newId, type AudienceId, type SchemaId, type WorkspaceId } from "../../core/ids.js";
import { parseRule } from "../../core/rule/parse.js";
import { CONDITIONS_MAX, DEPTH_MAX } from "../../core/rule/size.js";
import type { WrittenRule } from "../../core/rule/rule.js";
import { readRetentions, untilUndisturbed } from "../datasets/retentions.js";
import { readVocabulary, type Words } from "../search/vocabulary.js";
import type { Caller, Services } from "../services.js";

/** All rules of a workspace are read together. */
const RULE_BYTES_MAX = 16_384;

type AudienceServices = Pick<Services, "audiences" | "catalog" | "movements">;

/** As it stands among the others. */
export interface StandingAudience {
  readonly audience: Audience;
  readonly set: AudienceSet;
}

export async function requireAudience(
  { audiences }: Pick<Services, "audiences">,
  workspace: WorkspaceId,
  audienceId: AudienceId,
): Promise<Audience> {
  return audienceIn(await audiences.audiences(workspace), audienceId);
}

export async function createAudience(
  services: AudienceServices,
  { workspace, now }: Pick<Caller, "workspace" | "now">,
  { name, rule: given }: { readonly name: string; readonly rule: unknown },
): Promise<StandingAudience> {
  const text = textOf(given);
  const audienceId = newId<AudienceId>();
  await watch(services, workspace);
  const set = await changeByRule(services, workspace, given, (current, words) => {
    requireRoom(current);
    const rule = ruleIn(given, words, current, null);
    const created: Audience = {
      audienceId,
      name,
      text,
      rule,
      version: 1,
      createdAt: now,
      build: newBuild("built"),
    };
    return withAudience(current, created);
  });
  return { audience: audienceIn(set, audienceId), set };
}

/** Before an audience is stored: what its build does not see leaves a note. */
export async function watch(
  { audiences, movements }: Pick<Services, "audiences" | "movements">,
  workspace: WorkspaceId,
): Promise<void> {
  // Whoever tends the workspace clears its notes, also if nothing comes of the audience.
  await audiences.changeAudiences(workspace, (current) => (current.version === NO_AUDIENCES.version ? current : null));
  await movements.watch(workspace);
}

export interface AudienceChange {
  readonly name?: string;
  readonly rule?: unknown;
}

/** What is not given stays. `mayChange` sees the audience that stands at that moment. */
export async function changeAudience(
  services: AudienceServices,
  workspace: WorkspaceId,
  audienceId: AudienceId,
  change: AudienceChange,
  mayChange: (standing: Audience) => boolean,
): Promise<StandingAudience> {
  const { name, rule: given } = change;
  const text = given === undefined ? null : textOf(given);
  const changeBy = async (make: (current: AudienceSet, words: Words | null) => AudienceSet | null) =>
    given === undefined
      ? services.audiences.changeAudiences(workspace, (current) => make(current, null))
      : changeByRule(services, workspace, given, make);
  const set = await changeBy((current, words) => {
    const standing = audienceIn(current, audienceId);
    if (!mayChange(standing)) throw stale();
    const rule = words === null ? standing.rule : ruleIn(given, words, current, audienceId);
    const changed = { ...standing, name: name ?? standing.name, text: text ?? standing.text, rule };
    const isSameRule = JSON.stringify(rule) === JSON.stringify(standing.rule);
    if (isSameRule && changed.text === standing.text && changed.name === standing.name) return null;
    const next: AudienceSet = {
      ...current,
      audiences: current.audiences.map((one) =>
        one === standing ? { ...changed, version: standing.version + 1 } : one,
      ),
    };
    requireSmall(next);
    // A client may send the whole record to change the name: that has nobody judged anew.
    return isSameRule ? next : rebuilt(next, audienceId);
  });
  return { audience: audienceIn(set, audienceId), set };
}

export async function deleteAudience(
  { audiences }: Pick<Services, "audiences">,
  workspace: WorkspaceId,
  audienceId: AudienceId,
  mayDelete: (standing: Audience) => boolean,
): Promise<void> {
  await audiences.changeAudiences(workspace, (current) => {
    const standing = audienceIn(current, audienceId);
    if (!mayDelete(standing)) throw stale();
    const referrers = referrersOf(current, audienceId);
    if (referrers.length > 0)
      throw new AppError("in_use", "Other audiences refer to this one.", {
        members: { audience_ids: referrers.map((one) => one.audienceId) },
      });
    return {
      audiences: current.audiences.filter((one) => one !== standing),
      deleted: [...current.deleted, audienceId],
    };
  });
}

/** With another rule all profiles are judged anew, also by those that refer to it. */
function rebuilt(set: AudienceSet, audienceId: AudienceId): AudienceSet {
  const concerned = dependentsOf(set, audienceId);
  const audiences = set.audiences.map((one) =>
    concerned.has(one.audienceId) ? { ...one, build: newBuild("rule") } : one,
  );
  return { ...set, audiences };
}

export function audienceIn({ audiences }: AudienceSet, audienceId: AudienceId): Audience {
  const found = audiences.find((one) => one.audienceId === audienceId);
  if (found === undefined) throw new AppError("not_found", "There is no such audience.");
  return found;
}

/** Changes the audiences by a rule: `make` sees what it may say, as long as that holds. */
const changeByRule = (
  services: AudienceServices,
  workspace: WorkspaceId,
  given: unknown,
  make: (current: AudienceSet, words: Words) => AudienceSet | null,
): Promise<AudienceSet> =>
  untilUndisturbed(services, workspace, async () => {
    const { fence } = await services.audiences.audiences(workspace);
    const retentions = retentionsOf(await services.catalog.fenceDatasets(workspace, newId()));
    const words = await readWords(services, workspace, given, retentions);
    let isOld = false;
    const set = await services.audiences.changeAudiences(workspace, (current) => {
      isOld = current.fence !== fence;
      return isOld ? null : make(current, words);
    });
    return isOld ? null : set;
  });

const DAY_MS = 86_400_000;

/** Who comes to an audience stays in it as long as its rule says, so what that depends on must be kept as long. */
async function readWords(
  services: Pick<Services, "catalog">,
  workspace: WorkspaceId,
  given: unknown,
  retentions: ReadonlyMap<SchemaId, number>,
): Promise<Words> {
  const words = await readVocabulary(services, workspace, given);
  const keptFor: Words["keptFor"] = (schemaId) => {
    const days = schemaId === null ? Math.min(...retentions.values()) : retentions.get(schemaId as SchemaId);
    return days === undefined || days === Infinity ? null : days * DAY_MS;
  };
  return { ...words, keptFor };
}

export function textOf(given: unknown): string {
  const text = JSON.stringify(given);
  if (Buffer.byteLength(text) > RULE_BYTES_MAX)
    throw mismatch([{ path: "rule", message: `must have at most ${RULE_BYTES_MAX} bytes` }]);
  return text;
}

function ruleIn(given: unknown, words: Words, set: AudienceSet, self: AudienceId | null): WrittenRule {
  const { keptFor: _, ...timeless } = words;
  const rule = timelessRuleIn(given, timeless, set, self);
  const kept = parseRule(given, "rule", { ...words, audience: audienceWords(set, self) });
  if ("errors" in kept) throw mismatch(kept.errors, "window_exceeds_retention");
  return rule;
}

/** Throws what is wrong with it as the rule of an audience, whatever room the others leave: it may be for the place of one of them. */
export async function requireRule(
  services: Pick<Services, "audiences" | "catalog">,
  workspace: WorkspaceId,
  given: unknown,
): Promise<void> {
  textOf(given);
  const retentions = await readRetentions(services, workspace);
  const [words, set] = await Promise.all([
    readWords(services, workspace, given, retentions),
    services.audiences.audiences(workspace),
  ]);
  ruleIn(given, words, set, null);
}

/** Read against the audiences as they stand at that moment, because it may refer to them. However long events are kept. */
export function timelessRuleIn(given: unknown, words: Words, set: AudienceSet, self: AudienceId | null): WrittenRule {
  const parsed = parseRule(given, "rule", { ...words, audience: audienceWords(set, self) });
  if ("errors" in parsed) throw mismatch(parsed.errors);
  return parsed.rule;
}

export function requireRoom({ audiences }: AudienceSet): void {
  if (audiences.length < AUDIENCES_MAX) return;
  throw mismatch([{ path: "name", message: `a workspace has at most ${AUDIENCES_MAX} audiences` }]);
}

/** A rule that grows makes those that refer to it grow. */
function requireSmall(set: AudienceSet): void {
  const [first] = tooLarge(set);
  if (first === undefined) return;
  const limits = `more than ${CONDITIONS_MAX} conditions or more than ${DEPTH_MAX} levels`;
  const message = `with this rule, audience ${first.audienceId}, which refers to this one, has ${limits}`;
  throw mismatch([{ path: "rule", message }]);
}

const stale = (): AppError =>
  new AppError("precondition_failed", "The audience has changed since you read it (If-Match). Read it again.");
