import { AppError } from "../../core/errors.js";
import type { WorkspaceId } from "../../core/ids.js";

export interface SlotsOptions {
  /** Streams under way of the process, and of one workspace. */
  readonly max?: number;
  readonly workspaceMax?: number;
}

/** Answers how to give the slot back. Throws `rate_limited` where the workspace has its share, else `unavailable`. */
export type TakeSlot = (workspace: WorkspaceId) => () => void;

/** A stream may last for hours, so each holds its bytes far longer than any other answer: only few run at once. */
export function createSlots({ max = 8, workspaceMax = 2 }: SlotsOptions = {}): TakeSlot {
  const taken = new Map<WorkspaceId, number>();
  let all = 0;
  return (workspace) => {
    const own = taken.get(workspace) ?? 0;
    if (own >= workspaceMax)
      throw refusal("rate_limited", `${own} exports of this workspace are running. Wait until one of them ends.`);
    if (all >= max) throw refusal("unavailable", "Too many exports are running.");
    taken.set(workspace, own + 1);
    all += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      all -= 1;
      const left = taken.get(workspace)! - 1;
      if (left === 0) taken.delete(workspace);
      else taken.set(workspace, left);
    };
  };
}

const refusal = (code: "rate_limited" | "unavailable", detail: string): AppError =>
  new AppError(code, detail, { headers: { "Retry-After": "10" } });
