import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api, ApiError, AwayError } from "../../api/http.js";
import type { Preview, SampleProfile } from "../../api/audiences.js";
import { returns } from "../../state/connection.js";
import { href } from "../../state/router.js";
import { useStore } from "../../state/store.js";
import { brief } from "../people/parts/text.js";
import { Bones, Card, count, Failure, Id, Message, minute, showNumber } from "../../ui/kit.js";

const WAITED_MS = 350;
const SAMPLE = 5;
const TRIES_MAX = 5;
const AGAIN_S = 2;

export interface Previewed {
  /** Of the rule of before, as long as the new one is looked at. */
  readonly preview: Preview | null;
  readonly error: unknown;
  readonly isLooking: boolean;
  /** The service was too busy to look, and is asked again by and by. */
  readonly isWaiting: boolean;
}

/** In how many milliseconds to look again; null: that would not help. */
function againOf(error: unknown, tries: number): number | null {
  if (!(error instanceof ApiError) || error.problem.code !== "rate_limited" || tries >= TRIES_MAX) return null;
  return (error.retryAfter ?? AGAIN_S) * 1_000;
}

/** Who would be in an audience of the rule, shortly after its last change. A null text is no rule yet. */
export function usePreview(ruleText: string | null): Previewed {
  const [state, setState] = useState<Previewed>({
    preview: null,
    error: null,
    isLooking: true,
    isWaiting: false,
  });
  const returned = useStore(returns);
  useEffect(() => {
    if (ruleText === null) return setState((last) => ({ ...last, error: null, isLooking: false, isWaiting: false }));
    setState((last) => ({ ...last, isLooking: true }));
    const abort = new AbortController();
    const look = async (tries: number): Promise<void> => {
      try {
        const body = `{"sample":${SAMPLE},"rule":${ruleText}}`;
        const preview = await api<Preview>("POST", "/v1/audiences/preview", body, { signal: abort.signal });
        if (!abort.signal.aborted) setState({ preview, error: null, isLooking: false, isWaiting: false });
      } catch (error) {
        if (abort.signal.aborted) return;
        const again = againOf(error, tries);
        const isWaiting = again !== null;
        setState({ preview: null, error, isLooking: isWaiting || error instanceof AwayError, isWaiting });
        if (again !== null) timer = setTimeout(() => void look(tries + 1), again);
      }
    };
    let timer = setTimeout(() => void look(1), WAITED_MS);
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [ruleText, returned]);
  return state;
}

/** How many there would be, and some of them. */
export function PreviewCard({
  previewed: { preview, error, isLooking, isWaiting },
  isUnfinished,
}: {
  readonly previewed: Previewed;
  readonly isUnfinished: boolean;
}): JSX.Element {
  return (
    <Card title="Who would be in it">
      <div class="stack" aria-live="polite" aria-busy={isLooking}>
        {isUnfinished ? (
          <p class="soft">Finish the conditions: then the profiles that match them are counted here.</p>
        ) : isWaiting ? (
          <Message tone="info">The service is busy: this is counted again by itself in a moment.</Message>
        ) : error !== null ? (
          <Failure error={error} />
        ) : preview === null ? (
          <Bones lines={4} />
        ) : (
          <Found preview={preview} isOld={isLooking} />
        )}
      </div>
    </Card>
  );
}

const numberOf = ({ count: found, exact }: Preview): string => `${exact ? "" : "about "}${showNumber(found)}`;

/** The number alone, in sight while one builds, where the card is below. What hears hears the card. */
export const PreviewLine = ({
  previewed: { preview, isLooking },
  isUnfinished,
}: {
  readonly previewed: Previewed;
  readonly isUnfinished: boolean;
}): JSX.Element => (
  <p class="rule-count" aria-hidden="true">
    {isUnfinished || preview === null ? (
      <span class="soft">{isLooking && !isUnfinished ? "Counting…" : "Not counted yet"}</span>
    ) : (
      <span class={isLooking ? "old" : ""}>
        <strong>{numberOf(preview)}</strong> of {count(preview.profiles, "profile")} would be in it
      </span>
    )}
  </p>
);

function Found({ preview, isOld }: { readonly preview: Preview; readonly isOld: boolean }): JSX.Element {
  const { count: found, exact, low, high, profiles, looked_at: lookedAt, sample } = preview;
  return (
    <div class={`stack${isOld ? " old" : ""}`}>
      <div>
        <div class="preview-count">{numberOf(preview)}</div>
        <p class="soft small">
          {exact
            ? `of ${count(profiles, "profile")}, counted exactly.`
            : `of ${count(profiles, "profile")}: from ${showNumber(low)} to ${showNumber(high)}, by ${showNumber(lookedAt)} drawn at random.`}
        </p>
      </div>
      {sample.length > 0 && sample.length < found && (
        <p class="soft small">{showNumber(sample.length)} of them, drawn at random:</p>
      )}
      {sample.length > 0 && (
        <ul class="sample" aria-label="Some of them">
          {sample.toSorted(byId).map((profile) => (
            <Sampled key={profile.profile_id} profile={profile} />
          ))}
        </ul>
      )}
    </div>
  );
}

/** The service draws them in random order: a list that is read again shall not jump. */
const byId = (one: SampleProfile, other: SampleProfile): number => (one.profile_id < other.profile_id ? -1 : 1);
const TRAITS_SHOWN = 3;
const TEXT_MAX = 120;
/** As the service stores one. */
const TIME = /^\d{4}-(0[1-9]|1[0-2])-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

function Sampled({
  profile: { profile_id: id, identifiers, traits },
}: {
  readonly profile: SampleProfile;
}): JSX.Element {
  // The one that says most to a person.
  const first = identifiers.find(({ namespace }) => namespace === "email") ?? identifiers[0];
  const page = href("/profiles/:id", { id });
  return (
    <li>
      <div class="row-between">
        {first === undefined ? (
          <span class="soft">no identifier</span>
        ) : (
          <a class="break" href={page}>
            <bdi>{brief(first.value)}</bdi>
          </a>
        )}
        <Id id={id} href={page} what="the profile id" />
      </div>
      <div class="soft small break">
        {Object.entries(traits)
          .slice(0, TRAITS_SHOWN)
          .map(([name, value], i) => (
            <span key={name}>
              {i > 0 && " · "}
              <bdi>{brief(name)}</bdi>:{" "}
              {typeof value === "string" && TIME.test(value) ? (
                <span class="nowrap">{minute(value)}</span>
              ) : (
                <bdi>{brief(Array.isArray(value) ? value.map(String).join(", ") : String(value), TEXT_MAX)}</bdi>
              )}
            </span>
          ))}
        {Object.keys(traits).length === 0 && "no traits"}
      </div>
    </li>
  );
}
