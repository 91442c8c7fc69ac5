import { useMemo } from "preact/hooks";
import { useQuery, useWhole } from "../../../api/hooks.js";
import type { Audience, SampleProfile } from "../../../api/audiences.js";
import type { Namespace, Schema } from "../../../api/records.js";
import { annotationsOf } from "../../data/schemas/annotations.js";

/** What a rule may name in this workspace, as far as it is known here. The service itself decides. */
export interface Vocabulary {
  readonly fields: readonly string[];
  readonly schemas: readonly SchemaWords[];
  readonly audiences: readonly Audience[];
  /** Null while it is not known. */
  readonly hasTraits: boolean | null;
}

export interface SchemaWords {
  readonly id: string;
  readonly paths: readonly string[];
  readonly numbers: readonly string[];
}

const PROFILES_LOOKED_AT = 20;

export function useVocabulary(): Vocabulary {
  const schemas = useWhole<Schema>("/v1/schemas?limit=100", "schemas").data;
  const namespaces = useWhole<Namespace>("/v1/namespaces?limit=100", "namespaces").data;
  const audiences = useQuery<{ readonly audiences: readonly Audience[] }>("/v1/audiences?limit=100").data?.audiences;
  // Traits can come without a schema, by identify: those of a few profiles.
  const profiles = useQuery<{ readonly profiles: readonly SampleProfile[] }>(`/v1/profiles?limit=${PROFILES_LOOKED_AT}`)
    .data?.profiles;
  return useMemo(() => {
    const traits = new Set([
      ...(schemas ?? []).flatMap(({ schema }) => annotationsOf(schema).traits),
      ...(profiles ?? []).flatMap(({ traits: ofOne }) => Object.keys(ofOne)),
    ]);
    return {
      fields: [
        ...[...traits].toSorted().map((name) => `traits.${name}`),
        ...(namespaces ?? []).map(({ name }) => `identifiers.${name}`),
        "first_seen",
        "last_seen",
        "event_count",
      ],
      schemas: (schemas ?? []).map(({ schema_id: id, schema }) => wordsOf(id, schema)),
      audiences: audiences ?? [],
      hasTraits: traits.size > 0 ? true : schemas === null || profiles === undefined ? null : false,
    };
  }, [schemas, namespaces, audiences, profiles]);
}

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null;
const DEPTH_MAX = 4;

/** The fields that a schema declares; a list is looked through. */
function wordsOf(id: string, schema: unknown): SchemaWords {
  const paths: string[] = [];
  const numbers: string[] = [];
  const walk = (one: unknown, path: string, depth: number): void => {
    if (!isObject(one) || depth > DEPTH_MAX) return;
    const { properties, items, type } = one;
    if (isObject(properties))
      for (const [name, inner] of Object.entries(properties))
        walk(inner, path === "" ? name : `${path}.${name}`, depth + 1);
    else if (isObject(items)) walk(items, path, depth + 1);
    else if (path !== "") {
      paths.push(path);
      if (type === "number" || type === "integer") numbers.push(path);
    }
  };
  walk(schema, "", 0);
  return { id, paths, numbers };
}
