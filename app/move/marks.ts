import { ConfigError } from "../../core/config.js";
import type { MoveMark, Place } from "../../core/ports/copying.js";

/** Throws unless all of it stands here and nowhere else. Asked once this process shows that it runs: a move marks first and looks then. */
export async function requireSettled(places: readonly Place[]): Promise<void> {
  for (const place of places) {
    const mark = await place.mark();
    if (mark !== null) throw new ConfigError(refusal(place.name, mark));
  }
}

function refusal(name: string, { state, other }: MoveMark): string {
  if (state === "left")
    return `${name} was moved to ${other}, and nothing may be added here any more: use the settings of the move's other side`;
  if (state === "leaving")
    return `${name} is being moved to ${other}: run the same \`npm run move\` again to its end, or with --cancel to stay here`;
  return `${name} is being filled by a move from ${other}: run the same \`npm run move\` again to its end`;
}

/** Whether the place is being filled by this move. Throws where the mark of another one stands. */
export async function isMarked(place: Place, moveId: string): Promise<boolean> {
  const mark = await place.mark();
  if (mark === null) return false;
  if (mark.state === "arriving" && mark.moveId === moveId) return true;
  throw new ConfigError(refusal(place.name, mark));
}

/** Throws unless the place is empty, or what stands there is of this move. */
export async function requireRoom(place: Place, moveId: string): Promise<void> {
  if (await isMarked(place, moveId)) return;
  const stands = [...(await place.stands())].map(([kind, count]) => `${kind} (${count})`);
  if (stands.length > 0)
    throw new ConfigError(`${place.name} is not empty, and a move fills empty stores alone: ${stands.join(", ")}`);
}
