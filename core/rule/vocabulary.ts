import type { Problems } from "./parse-tests.js";

/** The names that a rule of the workspace may use. */
export interface Vocabulary {
  isTrait(name: string): boolean;
  /** Null: there is no such namespace. */
  namespace(name: string): NamespaceWords | null;
  /** Null: there is no such schema. */
  schema(schemaId: string): SchemaWords | null;
  /** So long the events of the schema (null: of any) are kept, milliseconds; null: for ever. Absent: that is not asked. */
  readonly keptFor?: (schemaId: string | null) => number | null;
  /** Null: there is no such audience. */
  audience(audienceId: string): AudienceWords | null;
}

export interface AudienceWords {
  /** How many its rule has, with those of the audiences that it refers to. */
  readonly conditions: number;
  /** How deep it is, with them in the places of the references. */
  readonly depth: number;
  /** It refers to the audience that the rule is for. */
  readonly isCircular: boolean;
}

export interface NamespaceWords {
  /** As it is stored. */
  normalize(value: string): string;
}

/** Asked only of paths that the rule names. */
export interface SchemaWords {
  /** Whether any version has a place for it. */
  declares(path: readonly string[]): boolean;
  /** Whether by any version a number, or a list with numbers, may stand there. */
  mayBeNumber(path: readonly string[]): boolean;
}

export interface Parsing {
  readonly vocabulary: Vocabulary;
  readonly problems: Problems;
}
