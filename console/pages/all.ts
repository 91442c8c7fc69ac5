import type { PageGroup } from "../state/pages.js";
import { audiencePages } from "./audiences.js";
import { dataPages } from "./data.js";
import { peoplePages } from "./people.js";
import { workspacePages } from "./workspace.js";

/** Every page, in the order of the navigation. A page is one line in the list of its group. */
export const GROUPS: readonly PageGroup[] = [dataPages, peoplePages, audiencePages, workspacePages];
