import type { Config } from "../../core/config.js";

/** What no erasure reaches, wherever the data is: `docs/erasure.md` says what each means. */
const ALWAYS = ["backups", "receivers", "queued_messages", "payloads_of_others", "unreadable_messages", "settings"];

/** The same, of an installation. */
export const remainsOf = ({ MONGODB_URL, NEO4J_URL }: Pick<Config, "MONGODB_URL" | "NEO4J_URL">): readonly string[] => [
  ...ALWAYS,
  ...(MONGODB_URL === "" ? [] : ["free_space_mongodb"]),
  ...(NEO4J_URL === "" ? [] : ["free_space_neo4j"]),
];
