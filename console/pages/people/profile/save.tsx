import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../../../api/hooks.js";
import { api, queryOf } from "../../../api/http.js";
import { rawItems, rawMembers } from "../../../api/raw.js";
import { Button, Failure, notify, pretty } from "../../../ui/kit.js";
import type { Profile } from "../parts/records.js";

/** A browser holds the file in memory. */
const ITEMS_MAX = 50_000;

interface Part {
  /** JSON texts. */
  readonly items: readonly string[];
  readonly isWhole: boolean;
}

const textOf = (path: string): Promise<string> => api("GET", path, undefined, { read: (text) => text });

async function readAll(
  path: string,
  names: readonly string[],
  told: (items: number) => void,
): Promise<readonly Part[]> {
  const items = names.map((): string[] => []);
  let cursor: string | null = null;
  let read = 0;
  do {
    const page = rawMembers(await textOf(`${path}${queryOf({ limit: 100, cursor })}`));
    for (const [i, name] of names.entries()) {
      const some = rawItems(page.get(name) ?? "[]");
      items[i]!.push(...some.map(pretty));
      read += some.length;
    }
    cursor = JSON.parse(page.get("next_cursor") ?? "null") as string | null;
    told(read);
  } while (cursor !== null && read < ITEMS_MAX);
  return items.map((all) => ({ items: all, isWhole: cursor === null }));
}

interface Gathered {
  readonly profile: Profile;
  readonly isComplete: boolean;
  readonly text: string;
}

/** Everything that the service knows of a person, each value as `/v1` answers it: what an event holds as it was sent. */
async function gather(profile: Profile, told: (items: number) => void): Promise<Gathered> {
  const path = `/v1/profiles/${profile.profile_id}`;
  const parts: (readonly [name: string, items: readonly string[]])[] = [];
  let isWhole = true;
  let before = 0;
  for (const [list, names] of [
    ["events", ["events"]],
    ["graph", ["nodes", "links"]],
    ["history", ["changes"]],
  ] as const) {
    const read = await readAll(`${path}/${list}`, names, (items) => told(before + items));
    for (const [i, part] of read.entries()) {
      parts.push([names[i]!, part.items]);
      before += part.items.length;
      isWhole &&= part.isWhole;
    }
  }
  const [text, traits] = await Promise.all([textOf(path), textOf(`${path}/traits`)]);
  const now = JSON.parse(text) as Profile;
  const isComplete = isWhole && now.partial !== true;
  const members = [
    ["saved_at", JSON.stringify(new Date().toISOString())],
    ["complete", String(isComplete)],
    ["profile", pretty(text)],
    ["traits", pretty(rawMembers(traits).get("traits") ?? "[]")],
    ...parts.map(([name, items]) => [name, `[\n${items.join(",\n")}\n]`] as const),
  ] as const;
  const lines = members.map(([name, value]) => `"${name}": ${value}`).join(",\n");
  return { profile: now, isComplete, text: `{\n${lines}\n}\n` };
}

function keep(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser reads it after this turn.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

function whatIsIn({ isComplete, profile }: Gathered): string {
  if (isComplete) return "The file holds all that is known of this person.";
  if (profile.partial === true)
    return `The profile is large: the traits, audiences and events in the file are those of its first ${profile.identifiers.length.toLocaleString("en")} identifiers. The exports of /v1 have all events.`;
  return `The file holds the first ${ITEMS_MAX.toLocaleString("en")} entries of each list. The exports of /v1 have all of it.`;
}

/** For whoever asks what is known of them. */
export function SaveButton({ of }: { readonly of: Profile }): JSX.Element {
  const [read, setRead] = useState(0);
  const saving = useAction(async () => {
    setRead(0);
    const whole = await gather(of, setRead);
    keep(`profile-${of.profile_id}.json`, whole.text);
    notify(whatIsIn(whole));
  });
  return (
    <>
      <Failure error={saving.error} />
      <Button disabled={saving.isBusy} onClick={() => void saving.run()}>
        {saving.isBusy ? `${read.toLocaleString("en")} read…` : "Save as a file"}
      </Button>
    </>
  );
}
