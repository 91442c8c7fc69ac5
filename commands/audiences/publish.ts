import type { WorkspaceId } from "../../core/ids.js";
import type { Services } from "../services.js";

const PER_TURN = 500;

/** Brings all that was saved into the feed. */
export async function publishAll({ seats }: Pick<Services, "seats">, workspace: WorkspaceId): Promise<void> {
  while (await seats.publish(workspace, PER_TURN));
}
