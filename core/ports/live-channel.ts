import type { WorkspaceId } from "../ids.js";
import type { Port } from "./port.js";

/**
 * Tells what happens in one process to whoever watches in another. Nothing of it is kept, and nothing is told twice.
 */
export interface LiveChannel extends Port {
  /** Whether anybody watches the workspace, in this process or, as far as it has heard by now, in another one. Costs next to nothing. */
  isWatched(workspace: WorkspaceId): boolean;
  /** Hands the message to all who watch the workspace, in every process. What cannot be handed on at once is lost; never throws. */
  tell(workspace: WorkspaceId, message: Buffer): void;
  /**
   * Resolves once `told` hears all that is told of the workspace from then on; the messages of one process come in their order. Answers
   * how to stop, after which nothing more is heard.
   */
  watch(workspace: WorkspaceId, told: (message: Buffer) => void): Promise<() => void>;
}
