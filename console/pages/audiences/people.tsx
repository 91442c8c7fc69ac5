import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { api, ApiError, AwayError } from "../../api/http.js";
import type { SampleProfile } from "../../api/audiences.js";
import { returns } from "../../state/connection.js";
import { href } from "../../state/router.js";
import { useStore } from "../../state/store.js";
import { Id, visible } from "../../ui/kit.js";
import "../../styles/audiences.css";

const LOOKUP_MAX = 100;
const LETTERS_MAX = 60;

/** What a person is recognised by, first the best. */
const NAMESPACES = ["email", "user_id", "phone"];
const TRAITS = ["name", "full_name", "first_name", "username"];

interface LookedUp {
  readonly profiles: readonly (SampleProfile & { readonly matched_ids: readonly string[] })[];
  readonly unknown_ids: readonly string[];
}
/** By profile id. An empty one: there is none, or it cannot be read. Null: the profile is gone. */
export type Names = ReadonlyMap<string, string | null>;

/** The first e-mail, login or name; else whatever identifier there is. */
export function nameOf({ identifiers, traits }: Pick<SampleProfile, "identifiers" | "traits">): string {
  for (const wanted of NAMESPACES) {
    const found = identifiers.find(({ namespace }) => namespace === wanted);
    if (found !== undefined) return found.value;
  }
  const named = TRAITS.map((trait) => traits[trait]).find((value) => typeof value === "string" && value !== "");
  const [first] = identifiers;
  return (named as string | undefined) ?? (first === undefined ? "" : `${first.namespace} ${first.value}`);
}

const REFUSED_S = 5;
const pause = (seconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));

/** In how many seconds to ask again what the service refuses for now; null: it is no such refusal. */
function passesIn(error: unknown): number | null {
  if (!(error instanceof ApiError) || (error.problem.status !== 429 && error.problem.status < 500)) return null;
  return error.retryAfter ?? REFUSED_S;
}

/** The names of these profiles, each asked for once, a hundred at a time. */
export function useNames(ids: readonly string[]): Names {
  const [names, setNames] = useState<Names>(new Map());
  const [isIdle, setIdle] = useState(true);
  const asked = useRef(new Set<string>());
  const failed = useRef(new Set<string>());
  const returned = useStore(returns);
  useEffect(() => {
    for (const id of failed.current) asked.current.delete(id);
    failed.current.clear();
  }, [returned]);
  useEffect(() => {
    const wanted = [...new Set(ids)].filter((id) => !asked.current.has(id)).slice(0, LOOKUP_MAX);
    if (!isIdle || wanted.length === 0) return;
    for (const id of wanted) asked.current.add(id);
    setIdle(false);
    const lookUp = async (): Promise<void> => {
      const found = new Map<string, string | null>(wanted.map((id) => [id, ""]));
      try {
        const looked = await api<LookedUp>("POST", "/v1/profiles/lookup", { profile_ids: wanted }, { isRead: true });
        for (const one of looked.profiles) for (const id of one.matched_ids) found.set(id, nameOf(one));
        for (const id of looked.unknown_ids) found.set(id, null);
      } catch (error) {
        const passes = passesIn(error);
        // Until the service is back, or for good, the ids alone will do.
        if (passes === null) for (const id of wanted) failed.current.add(id);
        else {
          await pause(passes);
          for (const id of wanted) asked.current.delete(id);
        }
        if (passes !== null || error instanceof AwayError) found.clear();
      }
      setNames((last) => new Map([...last, ...found]));
      setIdle(true);
    };
    void lookUp();
  }, [ids, isIdle, returned]);
  return names;
}

/** Two lines from the start, so that nothing moves when the name comes. */
export function Person({ id, names }: { readonly id: string; readonly names: Names }): JSX.Element {
  const name = names.get(id);
  const page = name === null ? {} : { href: href("/profiles/:id", { id }) };
  return (
    <span class="person">
      {name ? (
        <a class="break" {...page} title={visible(name)}>
          <bdi>{cut(visible(name))}</bdi>
        </a>
      ) : (
        <span class="soft">{name === undefined ? "…" : name === null ? "erased" : "no name"}</span>
      )}
      <Id id={id} {...page} what="the profile id" />
    </span>
  );
}

function cut(text: string): string {
  const letters = Array.from(text.slice(0, LETTERS_MAX * 4));
  return letters.length <= LETTERS_MAX && text.length <= LETTERS_MAX * 4
    ? text
    : `${letters.slice(0, LETTERS_MAX).join("")}…`;
}
