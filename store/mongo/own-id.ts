import type { WorkspaceId } from "../../core/ids.js";

/** The id under which a workspace keeps what the id names: unique, and UUIDv7s of one workspace stand side by side. */
export const ownId = (workspace: WorkspaceId, id: string): string => `${workspace}:${id}`;
export const idIn = <Id extends string>(own: string): Id => own.slice(own.indexOf(":") + 1) as Id;
export const workspaceIn = (own: string): WorkspaceId => own.slice(0, own.indexOf(":")) as WorkspaceId;
