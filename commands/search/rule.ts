import { audienceWords, finderIn, type AudienceSet } from "../../core/audience/audience.js";
import { mismatch } from "../../core/errors.js";
import type { WorkspaceId } from "../../core/ids.js";
import { parseRule } from "../../core/rule/parse.js";
import { resolveRule } from "../../core/rule/resolve.js";
import type { Rule } from "../../core/rule/rule.js";
import type { Services } from "../services.js";
import { readVocabulary } from "./vocabulary.js";

export type RuleServices = Pick<Services, "audiences" | "catalog">;

export interface ReadRule {
  readonly rule: Rule;
  /** The audiences as they stood then. */
  readonly set: AudienceSet;
}

/** A rule that belongs to no audience, with the rules of audiences in the place of references. */
export async function readRule(services: RuleServices, workspace: WorkspaceId, given: unknown): Promise<ReadRule> {
  const [words, set] = await Promise.all([
    readVocabulary(services, workspace, given),
    services.audiences.audiences(workspace),
  ]);
  const parsed = parseRule(given, "rule", { ...words, audience: audienceWords(set, null) });
  if ("errors" in parsed) throw mismatch(parsed.errors);
  const rule = resolveRule(parsed.rule, finderIn(set));
  if (rule === null) throw new Error("A rule refers to an audience that is not there.");
  return { rule, set };
}
