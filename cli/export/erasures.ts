import { createReadStream, readFileSync } from "node:fs";
import type { Http } from "../../client/http.js";
import { identifierKey, type Identifier } from "../../core/event/event.js";
import { showTime } from "../../core/event/time.js";
import type { Buried, Erasure } from "../../core/identity/erasure.js";
import { fromLogText, keepLatest, type LoggedErasure } from "../../core/identity/logged-erasure.js";
import { tombsUnder, type TombOf } from "../../core/identity/tombstone.js";
import type { ErasureId, Tomb, Uid, WorkspaceId } from "../../core/ids.js";
import { pages } from "../command.js";
import { CliError, EXIT, usage } from "../fail.js";
import { contentOf } from "../import/files.js";
import { EXPORT_LINE_BYTES_MAX, linesOf } from "../import/lines.js";
import { textIn, type Values } from "../options.js";
import { count } from "../show.js";
import type { World } from "../world.js";
import { endIn } from "./kinds.js";

export const ERASURE_OPTIONS = ["erasures", "secret-file", "workspace"] as const;

/** What the log of erasures of the old installation holds about the workspace that was exported. */
interface Log {
  readonly file: string;
  readonly secretFile: string;
  readonly workspace: WorkspaceId;
  readonly tombOf: TombOf;
  /** The latest line of each. */
  readonly records: ReadonlyMap<ErasureId, Erasure>;
  readonly buried: ReadonlyMap<Tomb, readonly (Pick<Buried, "uid"> & { readonly erasureId: ErasureId })[]>;
  readonly tombByUid: ReadonlyMap<Uid, Tomb>;
}

/** Whom of the export the log erases. */
export interface Erased {
  readonly erasureIds: readonly ErasureId[];
  readonly identifiers: number;
  /** For the import, before all other lines. */
  readonly lines: () => Iterable<Buffer>;
}

/** Null when it is not asked for. */
export async function logIn(values: Values): Promise<Log | null> {
  const file = textIn(values, "erasures");
  const secretFile = textIn(values, "secret-file");
  const workspace = textIn(values, "workspace");
  if (file === null && secretFile === null && workspace === null) return null;
  if (file === null || secretFile === null || workspace === null)
    throw usage("--erasures, --secret-file and --workspace: are needed together");
  const tombOf = tombsUnder(secretIn(secretFile));
  const records = new Map<ErasureId, Erasure>();
  const buried = new Map<Tomb, { readonly erasureId: ErasureId; readonly uid: Uid | null }[]>();
  const tombByUid = new Map<Uid, Tomb>();
  const others = new Set<string>();
  for await (const { number, bytes } of linesOf(createReadStream(file))) {
    const { erasure, buried: part } = readLogged(bytes, `${file}: line ${number}`);
    if (erasure.workspace !== workspace) {
      others.add(erasure.workspace);
      continue;
    }
    keepLatest(records, erasure);
    for (const { tomb, uid } of part) {
      const before = (buried.get(tomb) ?? []).filter(({ erasureId }) => erasureId !== erasure.erasureId);
      buried.set(tomb, [...before, { erasureId: erasure.erasureId, uid }]);
      if (uid !== null) tombByUid.set(uid, tomb);
    }
  }
  if (records.size === 0 && others.size > 0)
    throw new CliError(
      EXIT.refused,
      `${file}: has no erasure of workspace ${workspace}, only of ${[...others].join(", ")}`,
    );
  return { file, secretFile, workspace: workspace as WorkspaceId, tombOf, records, buried, tombByUid };
}

const SECRET = /^[\w-]{43}$/;

function secretIn(file: string): Buffer {
  const text = readFileSync(file, "utf8").trim();
  if (!SECRET.test(text)) throw new CliError(EXIT.refused, `${file}: is no secret that npm run erasures writes`);
  return Buffer.from(text, "base64url");
}

/** Whom it does not name would come back, so nothing is passed over. */
function readLogged(bytes: Buffer, place: string): LoggedErasure {
  try {
    const logged = fromLogText(bytes.toString());
    if (isWhole(logged)) return logged;
  } catch {
    // It is said below.
  }
  throw new CliError(EXIT.refused, `${place}: is damaged, or of another version; npm run erasures writes a new copy`);
}

const isWhole = ({ erasure: { workspace, erasureId, keyId, erasedAt, suppress }, buried }: LoggedErasure): boolean =>
  [workspace, erasureId, keyId, ...buried.map(({ tomb }) => tomb)].every((text) => typeof text === "string") &&
  Number.isSafeInteger(erasedAt) &&
  typeof suppress === "boolean";

/** Looks for all identifiers of the export in the log. */
export async function erasedIn(log: Log, files: readonly string[], world: Pick<World, "stdin">): Promise<Erased> {
  const named = new Map<Tomb, Identifier>();
  for (const file of files)
    for await (const { number, bytes } of linesOf(
      contentOf(file, world, () => {}),
      EXPORT_LINE_BYTES_MAX,
    )) {
      if (endIn(bytes) !== null) break;
      for (const identifier of identifiersIn(parsed(bytes, `${file}: line ${number}`))) {
        const tomb = log.tombOf(identifierKey(log.workspace, identifier));
        requireOwnSecret(log, identifier, tomb);
        if (log.buried.has(tomb)) named.set(tomb, identifier);
      }
    }
  const byErasure = new Map<ErasureId, (Identifier & Pick<Buried, "uid">)[]>();
  for (const [tomb, { namespace, value }] of named)
    for (const { erasureId, uid } of log.buried.get(tomb)!) {
      const some = byErasure.get(erasureId) ?? [];
      some.push({ namespace, value, uid });
      byErasure.set(erasureId, some);
    }
  return {
    erasureIds: [...byErasure.keys()],
    identifiers: named.size,
    lines: function* () {
      for (const [erasureId, identifiers] of byErasure)
        for (let from = 0; from < identifiers.length; from += IDENTIFIERS_PER_LINE)
          yield lineOf(log.records.get(erasureId)!, identifiers.slice(from, from + IDENTIFIERS_PER_LINE));
    },
  };
}

const IDENTIFIERS_PER_LINE = 500;

/** The uid of an identifier is in the log in the clear, so it tells whether the tomb beside it was made with this secret. */
function requireOwnSecret({ tombByUid, secretFile, file }: Log, { uid }: Named, tomb: Tomb): void {
  const logged = uid === undefined ? undefined : tombByUid.get(uid);
  if (logged !== undefined && logged !== tomb)
    throw new CliError(EXIT.refused, `${secretFile}: is not the secret of the tombstones in ${file}`);
}

type Named = Identifier & { readonly uid?: Uid };

/** What senders sent, and what an import alone reads: it names nobody to the service. */
const PASSED_OVER = new Set(["payload", "facet", "traits", "notes"]);

function* identifiersIn(value: unknown): Generator<Named> {
  if (typeof value !== "object" || value === null) return;
  const { namespace, value: own } = value as { readonly namespace?: unknown; readonly value?: unknown };
  if (typeof namespace === "string" && typeof own === "string") yield value as Named;
  for (const [name, member] of Object.entries(value)) if (!PASSED_OVER.has(name)) yield* identifiersIn(member);
}

function parsed(bytes: Buffer, place: string): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch (error) {
    throw new CliError(EXIT.refused, `${place}: is damaged; run onym export again`, { cause: error });
  }
}

const lineOf = (
  { erasureId, erasedAt, keyId, profileId, suppress, readmittedAt, identifiers: counts }: Erasure,
  identifiers: readonly unknown[],
): Buffer =>
  Buffer.from(
    JSON.stringify({
      type: "erasure",
      erasure_id: erasureId,
      erased_at: showTime(erasedAt),
      key_id: keyId,
      profile_id: profileId,
      suppress,
      readmitted_at: readmittedAt === null ? null : showTime(readmittedAt),
      counts: Object.fromEntries(counts),
      identifiers,
    }),
  );

export const countsOf = ({ erasureIds, identifiers }: Erased) => ({
  erasures: erasureIds.length,
  erased_identifiers: identifiers,
});

export const showErased = ({ erasureIds, identifiers }: Erased): string =>
  `${count(identifiers, "identifier")} of ${count(erasureIds.length, "erasure")}`;

interface Receipt {
  readonly erasure_id: string;
  readonly late: { readonly events: number };
}

/** How many events of the export stayed out, as the receipts say. */
export async function droppedBy(http: Http, { erasureIds }: Erased): Promise<number> {
  const own = new Set<string>(erasureIds);
  let events = 0;
  for await (const { erasure_id: id, late } of pages<Receipt>(http, "/v1/erasures", "erasures"))
    if (own.has(id)) events += late.events;
  return events;
}
