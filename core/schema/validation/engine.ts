import { Ajv, _, type CodeKeywordDefinition, type Options, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { firstRepeat, memberOf } from "./equality.js";
import { multiplesOf } from "./multiple.js";
import { openDocument } from "../document.js";
import { FORMATS } from "./formats.js";
import { draftOf, isObject, type Draft, type SchemaObject } from "../keywords.js";
import { compilePattern } from "../limits/pattern.js";

export interface EngineOptions {
  /** Report every problem instead of the first one. */
  readonly allErrors?: boolean;
  /** False: `format` is an annotation. */
  readonly assertsFormats?: boolean;
  /** True: the instance knows the meta-schemas, so that a schema may refer to them. */
  readonly withMetaSchemas?: boolean;
}

const regExp = Object.assign(compilePattern, { code: "re2js" });

/** No option may change the data, load other schemas or write to the console. */
const optionsFor = (draft: Draft, options: EngineOptions): Options => ({
  // Clients may write legal JSON Schema in any style; strict mode is for our own schemas.
  strict: false,
  ownProperties: true,
  allErrors: options.allErrors ?? false,
  validateFormats: options.assertsFormats ?? true,
  formats: FORMATS,
  // Optimising the code takes three times as long as generating it, and has no measurable effect.
  code: { regExp, optimize: false },
  // Checked once at registration, by an instance that is kept: compiling the meta-schema takes ten times as long as the rest.
  validateSchema: false,
  meta: options.withMetaSchemas ?? false,
  // Draft-07 says so; later drafts do not.
  ignoreKeywordsWithRef: draft === "draft-07",
  // Inlining multiplies the code by the number of references.
  inlineRefs: false,
  useDefaults: false,
  coerceTypes: false,
  removeAdditional: false,
  $data: false,
  logger: false,
});

/** An own instance per schema: shared ones would mix up the `$id`s of different clients. */
export function createEngine(draft: Draft, options: EngineOptions = {}): Ajv {
  const engine = draft === "draft-07" ? new Ajv(optionsFor(draft, options)) : new Ajv2020(optionsFor(draft, options));
  for (const { keyword } of KEYWORDS) engine.removeKeyword(keyword as string);
  engine.addVocabulary(KEYWORDS);
  return engine;
}

/** Compiles a schema of a known draft. Throws an Error when Ajv cannot, or when its answers would be promises. */
export function compileSchema(schema: SchemaObject, options: EngineOptions = {}): ValidateFunction {
  const validate = createEngine(draftOf(schema) ?? "2020-12", options).compile(withPlainReferences(schema));
  // Whoever takes a promise for an answer takes every payload for valid, and its rejection ends the process.
  if ("$async" in validate) throw new Error("a schema with $async was stored, which registration refuses");
  return validate;
}

const ENUM: CodeKeywordDefinition = {
  keyword: "enum",
  schemaType: "array",
  error: {
    message: "must be one of the allowed values",
    params: ({ schemaCode }) => _`{allowedValues: ${schemaCode}}`,
  },
  code: (cxt) => {
    const isAllowed = cxt.gen.scopeValue("func", { ref: memberOf(cxt.schema as unknown[]) });
    cxt.pass(_`${isAllowed}(${cxt.data})`);
  },
};

const CONST: CodeKeywordDefinition = {
  keyword: "const",
  error: { message: "must be the allowed value", params: ({ schemaCode }) => _`{allowedValues: [${schemaCode}]}` },
  code: (cxt) => {
    const isAllowed = cxt.gen.scopeValue("func", { ref: memberOf([cxt.schema]) });
    cxt.pass(_`${isAllowed}(${cxt.data})`);
  },
};

const UNIQUE_ITEMS: CodeKeywordDefinition = {
  keyword: "uniqueItems",
  type: "array",
  schemaType: "boolean",
  error: { message: "must not have duplicate items", params: () => _`{}` },
  code: (cxt) => {
    if (cxt.schema !== true) return;
    const repeat = cxt.gen.scopeValue("func", { ref: firstRepeat });
    cxt.pass(_`${repeat}(${cxt.data}) === null`);
  },
};

const MULTIPLE_OF: CodeKeywordDefinition = {
  keyword: "multipleOf",
  type: "number",
  schemaType: "number",
  error: { message: ({ schemaCode }) => _`"must be a multiple of " + ${schemaCode}`, params: () => _`{}` },
  code: (cxt) => {
    const isMultiple = cxt.gen.scopeValue("func", { ref: multiplesOf(cxt.schema as number) });
    cxt.pass(_`${isMultiple}(${cxt.data})`);
  },
};

/** Ajv's own compare by a routine that data can mislead (`equality.ts`), and divide in floating point (`multiple.ts`). */
const KEYWORDS: CodeKeywordDefinition[] = [ENUM, CONST, UNIQUE_ITEMS, MULTIPLE_OF];

/**
 * Within one schema resource `$dynamicRef` means what `$ref` means, and Ajv answers it wrongly; so it becomes one. Registration
 * refuses schemas of several resources, and an anchor name that stands twice.
 */
function withPlainReferences(schema: SchemaObject): SchemaObject {
  const { paths } = openDocument(schema);
  const isDynamic = [...paths.keys()].some((held) => "$dynamicRef" in held || "$dynamicAnchor" in held);
  return isDynamic ? (rewrite(schema, paths) as SchemaObject) : schema;
}

function rewrite(value: unknown, schemas: ReadonlyMap<unknown, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => rewrite(item, schemas));
  if (!isObject(value)) return value;
  const copy = Object.fromEntries(Object.keys(value).map((key) => [key, rewrite(value[key], schemas)]));
  return schemas.has(value) ? plain(copy) : copy;
}

function plain({ $dynamicRef: reference, $dynamicAnchor: anchor, ...rest }: SchemaObject): SchemaObject {
  const anchored = anchor === undefined ? rest : { ...rest, $anchor: anchor };
  if (reference === undefined) return anchored;
  return { ...anchored, allOf: [...((rest["allOf"] as unknown[] | undefined) ?? []), { $ref: reference }] };
}
