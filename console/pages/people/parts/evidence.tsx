import type { JSX } from "preact";
import { href } from "../../../state/router.js";
import { Badge, exactTime, Id, KeyId, Time, type Tone } from "../../../ui/kit.js";
import type { Asserted, Outcome, Rule, SourceName } from "./records.js";

export const OUTCOMES: Readonly<Record<Outcome, { readonly tone: Tone; readonly means: string }>> = {
  created: { tone: "good", means: "a new profile" },
  linked: { tone: "good", means: "a new link or identifier in a known profile" },
  merged: { tone: "accent", means: "several profiles became one" },
  partial: { tone: "warn", means: "a rule left something out" },
  refused: { tone: "bad", means: "a rule forbade it" },
  unlinked: { tone: "violet", means: "links were removed" },
  reverted: { tone: "violet", means: "an earlier change was undone" },
  forbidden: { tone: "violet", means: "two may not come into one profile" },
  allowed: { tone: "info", means: "a forbidden pair was allowed again" },
  unchanged: { tone: "neutral", means: "everything was known already" },
};

export const OutcomeBadge = ({ outcome }: { readonly outcome: Outcome }): JSX.Element => (
  <span title={OUTCOMES[outcome].means}>
    <Badge tone={OUTCOMES[outcome].tone}>{outcome}</Badge>
  </span>
);

export const RULES: Readonly<Record<Rule, string>> = {
  blocked: "the value identifies nobody",
  invalid: "not an e-mail address or phone number",
  limit: "one profile may not have that many values of the namespace",
  forbidden_pair: "the two are a forbidden pair",
  shared_identifier: "too many people share it",
  unlinked: "the link was removed later",
  scope: "the key may not join two people",
  erased: "the person was erased",
  suppressed: "the person was erased and is kept out",
};

const SOURCES: Readonly<Record<SourceName, string>> = {
  identify: "an identify call",
  alias: "an alias call",
  unlink: "an unlink",
  revert: "a revert",
  allow: "a pair that was allowed",
  shared_identifier: "the shared identifier limit",
  event: "an event",
};
export const saySource = ({ source }: Pick<Asserted, "source">): string => SOURCES[source];

/** In one sentence, for those who hear it. */
export const sayEvidence = (one: Pick<Asserted, "source" | "at" | "key_id">): string =>
  `by ${saySource(one)} on ${exactTime(one.at)}, with the key ${one.key_id}`;

/** Where it was said, with the way there. */
export const Source = ({ of }: { readonly of: Pick<Asserted, "source" | "event_id"> }): JSX.Element =>
  of.event_id === null ? (
    <span>{of.source.replace("_", " ")}</span>
  ) : (
    <span class="row source">
      event <Id id={of.event_id} href={href("/events/:id", { id: of.event_id })} what="the event id" />
    </span>
  );

export const ChangeLink = ({ id }: { readonly id: string }): JSX.Element => (
  <Id id={id} href={href("/changes/:id", { id })} what="the change id" />
);
export const ProfileLink = ({ id }: { readonly id: string }): JSX.Element => (
  <Id id={id} href={href("/profiles/:id", { id })} what="the profile id" />
);

/** All of it, in a line. */
export const EvidenceLine = ({ of }: { readonly of: Asserted }): JSX.Element => (
  <span class="evidence soft small">
    by <Source of={of} /> <Time at={of.at} /> with key <KeyId id={of.key_id} /> · change{" "}
    <ChangeLink id={of.change_id} />
  </span>
);
