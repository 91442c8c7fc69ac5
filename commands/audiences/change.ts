import {
  AUDIENCES_MAX,
  audienceWords,
  referrersOf,
  tooLarge,
  type Audience,
  type AudienceSet,
} from "../../core/audience/audience.js";
import { AppError, mismatch } from "../../core/errors.js";
import { newId, type AudienceId, type WorkspaceId } from "../../core/ids.js";
import { CONDITIONS_MAX, parseRule } from "../../core/rule/parse.js";
import type { Vocabulary } from "../../core/rule/vocabulary.js";
import type { WrittenRule } from "../../core/rule/rule.js";
import { readVocabulary, type Words } from "../search/vocabulary.js";
import type { Caller, Services } from "../services.js";

/** All rules of a workspace are read together. */
const RULE_BYTES_MAX = 16_384;

type AudienceServices = Pick<Services, "audiences" | "catalog">;

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
): Promise<Audience> {
  const text = textOf(given);
  const words = await readVocabulary(services, workspace, given);
  const audienceId = newId<AudienceId>();
  const set = await services.audiences.changeAudiences(workspace, (current) => {
    if (current.audiences.length >= AUDIENCES_MAX)
      throw mismatch([{ path: "name", message: `a workspace has at most ${AUDIENCES_MAX} audiences` }]);
    const rule = ruleIn(given, words, current, null);
    return [...current.audiences, { audienceId, name, text, rule, version: 1, createdAt: now }];
  });
  return audienceIn(set, audienceId);
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
): Promise<Audience> {
  const { name, rule: given } = change;
  const text = given === undefined ? null : textOf(given);
  const words = given === undefined ? null : await readVocabulary(services, workspace, given);
  const set = await services.audiences.changeAudiences(workspace, (current) => {
    const standing = audienceIn(current, audienceId);
    if (!mayChange(standing)) throw stale();
    const changed = {
      ...standing,
      ...(name !== undefined && { name }),
      ...(words !== null && text !== null && { text, rule: ruleIn(given, words, current, audienceId) }),
      version: standing.version + 1,
    };
    const audiences = current.audiences.map((one) => (one === standing ? changed : one));
    requireSmall({ ...current, audiences });
    return audiences;
  });
  return audienceIn(set, audienceId);
}

export async function deleteAudience(
  { audiences }: Pick<Services, "audiences">,
  workspace: WorkspaceId,
  audienceId: AudienceId,
): Promise<void> {
  await audiences.changeAudiences(workspace, (current) => {
    const standing = audienceIn(current, audienceId);
    const referrers = referrersOf(current, audienceId);
    if (referrers.length > 0)
      throw new AppError("in_use", "Other audiences refer to this one.", {
        members: { audience_ids: referrers.map((one) => one.audienceId) },
      });
    return current.audiences.filter((one) => one !== standing);
  });
}

function audienceIn({ audiences }: AudienceSet, audienceId: AudienceId): Audience {
  const found = audiences.find((one) => one.audienceId === audienceId);
  if (found === undefined) throw new AppError("not_found", "There is no such audience.");
  return found;
}

function textOf(given: unknown): string {
  const text = JSON.stringify(given);
  if (Buffer.byteLength(text) > RULE_BYTES_MAX)
    throw mismatch([{ path: "rule", message: `must have at most ${RULE_BYTES_MAX} bytes` }]);
  return text;
}

/** Read against the audiences as they stand at that moment, because it may refer to them. */
function ruleIn(given: unknown, words: Words, set: AudienceSet, self: AudienceId | null): WrittenRule {
  const vocabulary: Vocabulary = { ...words, audience: audienceWords(set, self) };
  const parsed = parseRule(given, "rule", vocabulary);
  if ("errors" in parsed) throw mismatch(parsed.errors);
  return parsed.rule;
}

/** A rule that grows makes those that refer to it grow. */
function requireSmall(set: AudienceSet): void {
  const [first] = tooLarge(set);
  if (first === undefined) return;
  const message = `with it the audience ${first.audienceId}, which refers to this one, has more than ${CONDITIONS_MAX} conditions`;
  throw mismatch([{ path: "rule", message }]);
}

const stale = (): AppError =>
  new AppError("precondition_failed", "The audience has changed since you read it (If-Match). Read it again.");
