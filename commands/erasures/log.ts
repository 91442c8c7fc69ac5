import type { Erasure } from "../../core/identity/erasure.js";
import type { ErasureId, Tomb, WorkspaceId } from "../../core/ids.js";
import type { Services } from "../services.js";

export type LogServices = Pick<Services, "erasures" | "erasureLog">;

export const BURIED_PER_PART = 1_000;

/** Writes the erasure where no backup of the stores takes it back. To be called once it is gone from the graph; doing it twice is safe. */
export async function logErasure({ erasures, erasureLog }: LogServices, erasure: Erasure): Promise<void> {
  let after: Tomb | null = null;
  for (;;) {
    const { workspace, erasureId } = erasure;
    const buried = await erasures.buried(workspace, erasureId, { limit: BURIED_PER_PART, after });
    if (buried.length > 0 || after === null) await erasureLog.append({ erasure, buried });
    if (buried.length < BURIED_PER_PART) break;
    after = buried.at(-1)!.tomb;
  }
  await logLast({ erasures, erasureLog }, erasure);
}

/** Writes the record as it is by now; what it buried is in the log already, or comes there once it is gone from the graph. */
export async function logRecord(services: LogServices, erasure: Erasure): Promise<void> {
  await services.erasureLog.append({ erasure, buried: [] });
  await logLast(services, erasure);
}

/** The last line is what a restored store follows, so whoever wrote one that is out of date by then writes another. */
export async function logLast({ erasures, erasureLog }: LogServices, written: Erasure): Promise<void> {
  for (let last = written; ;) {
    const standing = await erasures.findErasure(last.workspace, last.erasureId);
    if (standing === null || isAsLogged(standing, last)) return;
    await erasureLog.append({ erasure: standing, buried: [] });
    last = standing;
  }
}

const isAsLogged = (a: Erasure, b: Erasure): boolean =>
  a.erasedAt === b.erasedAt && a.suppress === b.suppress && a.readmittedAt === b.readmittedAt;

/** Ends the suppression, in the log too. Null where there is no such erasure. */
export async function readmit(
  services: LogServices,
  workspace: WorkspaceId,
  erasureId: ErasureId,
  at: number,
): Promise<Erasure | null> {
  const erasure = await services.erasures.readmit(workspace, erasureId, at);
  if (erasure !== null) await logRecord(services, erasure);
  return erasure;
}
