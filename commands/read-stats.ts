import type { WorkspaceId } from "../core/ids.js";
import { MINUTES, minuteOf, summarize, type HourStats } from "../core/stats.js";
import type { Services } from "./services.js";

/** What the workspace sent in the last hour, this minute included, through all gateways. */
export async function readStats(
  { stats }: Pick<Services, "stats">,
  { workspace, now }: { readonly workspace: WorkspaceId; readonly now: number },
): Promise<HourStats> {
  const toMinute = minuteOf(now);
  return summarize(await stats.read(workspace, toMinute - MINUTES + 1), toMinute);
}
