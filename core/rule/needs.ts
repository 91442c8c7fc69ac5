import { compileRule, type EventCondition, type Judge, type Subject } from "./judge.js";
import type { Rule } from "./rule.js";

/** The event conditions on which the rule still depends for a subject whose events were not read. */
export type Needs = (subject: Subject, now: number) => readonly EventCondition[];

interface Part {
  readonly judge: Judge;
  readonly needs: Needs;
}

const NONE: Needs = () => [];

export function compileNeeds(rule: Rule): Needs {
  switch (rule.kind) {
    case "field":
      return NONE;
    case "count":
    case "sum":
      return () => [rule];
    case "not":
      return compileNeeds(rule.part);
    case "and":
    case "or":
      break;
  }
  const parts = rule.parts.map((part): Part => ({ judge: compileRule(part), needs: compileNeeds(part) }));
  const judge = compileRule(rule);
  return (subject, now) =>
    judge(subject, now).is === null
      ? parts.flatMap((part) => (part.judge(subject, now).is === null ? part.needs(subject, now) : []))
      : [];
}
