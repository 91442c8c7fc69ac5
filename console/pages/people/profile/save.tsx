import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../../../api/hooks.js";
import { api, queryOf } from "../../../api/http.js";
import { Button, Failure, notify } from "../../../ui/kit.js";
import type { Profile } from "../parts/records.js";

/** A browser holds the file in memory. */
const ITEMS_MAX = 50_000;

interface Part {
  readonly items: readonly unknown[];
  readonly isWhole: boolean;
}

async function readAll(
  path: string,
  names: readonly string[],
  told: (items: number) => void,
): Promise<readonly Part[]> {
  const items = names.map((): unknown[] => []);
  let cursor: string | null = null;
  let read = 0;
  do {
    const page: Readonly<Record<string, unknown>> & { readonly next_cursor: string | null } = await api(
      "GET",
      `${path}${queryOf({ limit: 100, cursor })}`,
    );
    for (const [i, name] of names.entries()) {
      const some = page[name] as readonly unknown[];
      items[i]!.push(...some);
      read += some.length;
    }
    cursor = page.next_cursor;
    told(read);
  } while (cursor !== null && read < ITEMS_MAX);
  return items.map((all) => ({ items: all, isWhole: cursor === null }));
}

/** Everything that the service knows of a person, as `/v1` answers it. */
async function gather(profile: Profile, told: (items: number) => void) {
  const path = `/v1/profiles/${profile.profile_id}`;
  const parts: Record<string, readonly unknown[]> = {};
  let isWhole = true;
  let before = 0;
  for (const [list, names] of [
    ["events", ["events"]],
    ["graph", ["nodes", "links"]],
    ["history", ["changes"]],
  ] as const) {
    const read = await readAll(`${path}/${list}`, names, (items) => told(before + items));
    for (const [i, part] of read.entries()) {
      parts[names[i]!] = part.items;
      before += part.items.length;
      isWhole &&= part.isWhole;
    }
  }
  const [now, traits] = await Promise.all([
    api<Profile>("GET", path),
    api<{ readonly traits: unknown }>("GET", `${path}/traits`),
  ]);
  const complete = isWhole && now.partial !== true;
  return { saved_at: new Date().toISOString(), complete, profile: now, traits: traits.traits, ...parts };
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

function whatIsIn({ complete, profile }: Awaited<ReturnType<typeof gather>>): string {
  if (complete) return "The file holds all that is known of this person.";
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
    keep(`profile-${of.profile_id}.json`, JSON.stringify(whole, null, 2));
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
