import { AppError } from "../errors.js";
import type { Merge } from "../catalog/catalog.js";
import { annotationsOf, type Annotations } from "./annotations.js";
import { openDocument, type SchemaDocument } from "./document.js";
import { edgePath, edgesOf, isObject, type Edge, type Schema, type SchemaObject } from "./keywords.js";

/** Where a schema's annotations are, along the shape of the data. */
export interface AnnotationPlan {
  readonly namespaces: readonly string[];
  readonly traits: readonly { readonly name: string; readonly merge: Merge }[];
  /** Each scalar member with a simple name is a trait of that name. */
  readonly open: boolean;
  readonly members: ReadonlyMap<string, AnnotationPlan> | null;
  readonly elements: AnnotationPlan | null;
  /** What stands here or below is added up. */
  readonly adds: boolean;
}

const POSITIONS_MAX = 200;
/** Subschemas and what they hold, each as often as it applies at or above an annotation; takes some 20 ms. */
const STEPS_MAX = 50_000;
/** A place of the data takes about as long as so many subschemas. */
const PLACE_STEPS = 20;

/** Throws `invalid_schema` when an annotation is malformed or is where it has no effect. Runs in the event loop, so its work is bounded. */
export function compilePlan(schema: object): AnnotationPlan {
  const document = openDocument(schema as SchemaObject);
  const annotated = new Map<SchemaObject, Annotations>();
  for (const [held, path] of document.paths) {
    const annotations = annotationsOf(held, path);
    if (annotations !== null) annotated.set(held, annotations);
  }
  const parts = new Map([...document.paths.keys()].map((held) => [held, partsOf(document, held)]));
  const compiler: Compiler = {
    document,
    parts,
    annotated,
    leading: leadingTo(parts, annotated),
    positions: 0,
    steps: 0,
  };
  return planOf(compiler, [document.root], new Set()) ?? NOTHING;
}

/** What a schema holds and what it refers to: looked up once, because a schema may apply in very many places. */
interface Parts {
  readonly edges: readonly Edge[];
  readonly targets: readonly Schema[];
}

const partsOf = (document: SchemaDocument, schema: SchemaObject): Parts => ({
  edges: edgesOf(schema),
  targets: document.referred(schema),
});

interface Compiler {
  readonly document: SchemaDocument;
  /** Of every object subschema. */
  readonly parts: ReadonlyMap<SchemaObject, Parts>;
  readonly annotated: ReadonlyMap<SchemaObject, Annotations>;
  /** Schemas from which an annotation can be reached in any way. */
  readonly leading: ReadonlySet<Schema>;
  positions: number;
  steps: number;
}

const NOTHING: AnnotationPlan = { namespaces: [], traits: [], open: false, members: null, elements: null, adds: false };

const refused = (path: string, message: string): AppError =>
  new AppError("invalid_schema", `${path}: ${message}`, { errors: [{ path, message }] });

/** Walks every way backwards from the annotated schemas. */
function leadingTo(
  parts: ReadonlyMap<SchemaObject, Parts>,
  annotated: ReadonlyMap<SchemaObject, unknown>,
): ReadonlySet<Schema> {
  const holders = new Map<Schema, SchemaObject[]>();
  const note = (held: Schema, holder: SchemaObject): void => {
    const known = holders.get(held);
    if (known === undefined) holders.set(held, [holder]);
    else known.push(holder);
  };
  for (const [schema, { edges, targets }] of parts) {
    for (const edge of edges) if (edge.aim !== "none") note(edge.schema, schema);
    for (const target of targets) note(target, schema);
  }
  const leading = new Set<Schema>(annotated.keys());
  for (const schema of leading) for (const holder of holders.get(schema) ?? []) leading.add(holder);
  return leading;
}

/**
 * The plan of one place of the data, where all of `applied` hold; null when nothing is annotated at or below it. `above`: the schemas
 * of the places around this one, and again so afterwards.
 */
function planOf(compiler: Compiler, applied: readonly Schema[], above: Set<SchemaObject>): AnnotationPlan | null {
  if (!applied.some((schema) => compiler.leading.has(schema))) return null;
  step(compiler, PLACE_STEPS);
  const here = new Set<SchemaObject>();
  for (const schema of applied) gather(compiler, schema, here);
  const leading = [...here].filter((schema) => compiler.leading.has(schema));
  const again = leading.find((schema) => above.has(schema));
  if (again !== undefined)
    throw refused(pathOf(compiler, again), "contains annotations, so it must not contain itself");
  for (const schema of leading) above.add(schema);
  const own = ownAnnotations(compiler, [...here]);
  const members = membersOf(compiler, leading, above);
  const elements = leading.flatMap((schema) =>
    compiler.parts
      .get(schema)!
      .edges.filter((edge) => isOfAllItems(schema, edge))
      .map((edge) => edge.schema),
  );
  const items = planOf(compiler, elements, above);
  for (const schema of leading) above.delete(schema);
  const inside = [...(members?.values() ?? []), ...(items === null ? [] : [items])];
  const adds = own.traits.some(({ merge }) => merge === "sum") || inside.some((one) => one.adds);
  return { ...own, members, elements: items, adds };
}

function step(compiler: Compiler, steps: number): void {
  compiler.steps += steps;
  if (compiler.steps > STEPS_MAX)
    throw refused("schema", "its references and allOf apply too many subschemas around its annotations");
}

const pathOf = ({ document }: Compiler, schema: SchemaObject): string => document.paths.get(schema) ?? "schema";

/** Beside `prefixItems` the first elements are not of `items`. */
const isOfAllItems = ({ prefixItems }: SchemaObject, { keyword, name }: Edge): boolean =>
  keyword === "items" && name === null && !(Array.isArray(prefixItems) && prefixItems.length > 0);
const counts = (schema: SchemaObject, edge: Edge): boolean =>
  edge.keyword === "properties" || edge.aim === "here" || isOfAllItems(schema, edge);

const nameOfPlace = ({ keyword, name }: Edge): string =>
  keyword === "items" && name === null ? "items beside prefixItems" : keyword;

/** All schemas that always apply to the same value. A schema that applies only sometimes must not lead to an annotation. */
function gather(compiler: Compiler, schema: Schema, here: Set<SchemaObject>): void {
  if (!isObject(schema) || here.has(schema)) return;
  here.add(schema);
  const { edges, targets } = compiler.parts.get(schema)!;
  step(compiler, 1 + edges.length);
  for (const edge of edges) {
    if (edge.aim === "here") gather(compiler, edge.schema, here);
    else if (edge.aim !== "none" && !counts(schema, edge) && compiler.leading.has(edge.schema))
      throw refused(
        edgePath(pathOf(compiler, schema), edge),
        `leads to an annotation, which is not allowed under ${nameOfPlace(edge)}`,
      );
  }
  for (const target of targets) gather(compiler, target, here);
}

function membersOf(
  compiler: Compiler,
  here: readonly SchemaObject[],
  above: Set<SchemaObject>,
): AnnotationPlan["members"] {
  const named = new Map<string, Schema[]>();
  for (const schema of here)
    for (const edge of compiler.parts.get(schema)!.edges)
      if (edge.keyword === "properties" && edge.name !== null) {
        const known = named.get(edge.name);
        if (known === undefined) named.set(edge.name, [edge.schema]);
        else known.push(edge.schema);
      }
  const members = new Map<string, AnnotationPlan>();
  for (const [name, schemas] of named) {
    const plan = planOf(compiler, schemas, above);
    if (plan !== null) members.set(name, plan);
  }
  return members.size === 0 ? null : members;
}

/** Of all schemas that apply to the value: any of them may give its type. */
function ownAnnotations(
  compiler: Compiler,
  here: readonly SchemaObject[],
): Pick<AnnotationPlan, "namespaces" | "traits" | "open"> {
  const found = here.flatMap((schema) => compiler.annotated.get(schema) ?? []);
  if (found.length === 0) return { namespaces: [], traits: [], open: false };
  compiler.positions += 1;
  if (compiler.positions > POSITIONS_MAX)
    throw refused("schema", `must not have more than ${POSITIONS_MAX} annotated positions`);
  const isTextOrInteger = here.some(saysTextOrInteger);
  const [isScalarHere, isNumber, isObjectHere] = [here.some(saysScalar), here.some(saysNumber), here.some(saysObject)];
  for (const { path, namespace, trait, open } of found) {
    if (namespace !== null && !isTextOrInteger)
      throw refused(`${path}.x-identity`, "needs a type of string or integer next to it (or both; null may be added)");
    if (trait !== null && !isScalarHere)
      throw refused(`${path}.x-trait`, "needs a scalar type, enum or const next to it");
    if (trait?.merge === "sum" && !isNumber)
      throw refused(`${path}.x-trait`, "needs a type of number or integer next to it to be a sum (null may be added)");
    if (open && !isObjectHere) throw refused(`${path}.x-traits`, "needs the type object next to it");
  }
  const namespaces = new Set(found.flatMap(({ namespace }) => namespace ?? []));
  // If one name has two merges, both stay here; `traitsOf` refuses that.
  const traits = new Map(
    found.flatMap(({ trait }) => (trait === null ? [] : [[`${trait.merge} ${trait.name}`, trait] as const])),
  );
  const open = found.some((one) => one.open);
  return { namespaces: [...namespaces], traits: [...traits.values()], open };
}

const typesOf = ({ type }: SchemaObject): readonly unknown[] =>
  Array.isArray(type) ? type : type === undefined ? [] : [type];
const areAll = (types: readonly unknown[], allowed: readonly string[]): boolean =>
  types.length > 0 && types.every((type) => allowed.includes(type as string));
const isScalar = (value: unknown): boolean => typeof value !== "object" || value === null;

const saysTextOrInteger = (schema: SchemaObject): boolean =>
  areAll(typesOf(schema), ["string", "integer", "null"]) && !areAll(typesOf(schema), ["null"]);
const saysNumber = (schema: SchemaObject): boolean =>
  areAll(typesOf(schema), ["number", "integer", "null"]) && !areAll(typesOf(schema), ["null"]);
const saysObject = (schema: SchemaObject): boolean =>
  areAll(typesOf(schema), ["object", "null"]) && !areAll(typesOf(schema), ["null"]);
const saysScalar = (schema: SchemaObject): boolean =>
  areAll(typesOf(schema), ["string", "integer", "number", "boolean", "null"]) ||
  (Array.isArray(schema["enum"]) && schema["enum"].every(isScalar)) ||
  ("const" in schema && isScalar(schema["const"]));

/** The traits of a plan, each name once. Throws `invalid_schema` when a name has two merges. */
export function traitsOf(plan: AnnotationPlan): Readonly<Record<string, Merge>> {
  const traits = Object.create(null) as Record<string, Merge>;
  const collect = ({ traits: own, members, elements }: AnnotationPlan): void => {
    for (const { name, merge } of own) {
      if (traits[name] !== undefined && traits[name] !== merge)
        throw refused("schema", `the trait ${name} has two merges, ${traits[name]} and ${merge}`);
      traits[name] = merge;
    }
    for (const member of members?.values() ?? []) collect(member);
    if (elements !== null) collect(elements);
  };
  collect(plan);
  return traits;
}
