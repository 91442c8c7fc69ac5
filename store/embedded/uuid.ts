import type { WorkspaceId } from "../../core/ids.js";

/** 16 bytes, which compare as the text does. */
export const uuidBytes = (id: string): Buffer => Buffer.from(id.replaceAll("-", ""), "hex");

export function readUuid<Id extends string>(bytes: Buffer): Id {
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}` as Id;
}

/** The 32 bytes under which a workspace keeps what the id names: both are UUIDs. */
export const createOwnKeys = (workspace: WorkspaceId): ((id: string) => Buffer) => {
  const prefix = workspace.replaceAll("-", "");
  return (id) => Buffer.from(prefix + id.replaceAll("-", ""), "hex");
};
