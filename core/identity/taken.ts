import { AppError } from "../errors.js";

/** Ids are new everywhere but in an import, and no two workspaces of an installation have the same. */
export const idsTaken = (): AppError =>
  new AppError(
    "conflict",
    "This installation has, or had, records with these ids in another workspace. Import the export into another installation.",
  );
