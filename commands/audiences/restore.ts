import { newBuild, withAudience, type Audience } from "../../core/audience/audience.js";
import { AppError } from "../../core/errors.js";
import type { WorkspaceId } from "../../core/ids.js";
import type { AudienceRecord } from "../exports/catalog.js";
import { readVocabulary } from "../search/vocabulary.js";
import type { Services } from "../services.js";
import { requireRoom, textOf, timelessRuleIn, watch } from "./change.js";

/** Stores an audience of another installation under its id; one that stands as it is given stays. Its members are counted here. */
export async function restoreAudience(
  services: Pick<Services, "audiences" | "catalog" | "movements">,
  workspace: WorkspaceId,
  { audienceId, name, text: given, version, createdAt }: AudienceRecord,
): Promise<void> {
  const rule = JSON.parse(given) as unknown;
  const text = textOf(rule);
  const words = await readVocabulary(services, workspace, rule);
  await watch(services, workspace);
  await services.audiences.changeAudiences(workspace, (current) => {
    const standing = current.audiences.find((one) => one.audienceId === audienceId);
    if (standing !== undefined) {
      if (standing.name === name && standing.text === text && standing.version === version) return null;
      throw new AppError("conflict", `A different audience ${audienceId} already exists here.`);
    }
    if (current.deleted.includes(audienceId))
      throw new AppError("conflict", `Audience ${audienceId} was deleted here.`);
    requireRoom(current);
    const restored: Audience = {
      audienceId,
      name,
      text,
      // How long events are kept was looked at where it was made.
      rule: timelessRuleIn(rule, words, current, audienceId),
      version,
      createdAt,
      build: newBuild("built"),
    };
    return withAudience(current, restored);
  });
}

/** Has all profiles judged anew by all audiences. */
export const buildAll = async ({ audiences }: Pick<Services, "audiences">, workspace: WorkspaceId): Promise<void> =>
  void (await audiences.changeAudiences(workspace, (current) =>
    current.audiences.length === 0
      ? null
      : { ...current, audiences: current.audiences.map((one) => ({ ...one, build: newBuild("built") })) },
  ));
