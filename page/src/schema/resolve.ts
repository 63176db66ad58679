// Reads JSON Schema for forms: references, types, variants, and values to start with.

import { isObject, type Json, type JsonObject } from "../json";
import { SchemaLimitError, checkDepth, type Schema, type SchemaRoot } from "./limits";

/** The schema without constraints. */
const ANYTHING: Schema = {};

/**
 * Follows the references of a schema, and joins the parts of `allOf`. A reference to another document, or to nothing, is
 * no constraint. Throws a SchemaLimitError if the schema refers to itself without end.
 */
export function resolve(schema: Json | undefined, root: SchemaRoot, depth = 0): Schema {
  checkDepth(depth);
  root.count();
  if (!isObject(schema)) return ANYTHING;
  const reference = schema.$ref ?? schema.$dynamicRef;
  if (typeof reference !== "string") return merged(schema, root, depth);
  const target = lookUp(reference, root);
  if (!isObject(target)) return ANYTHING;
  // Members beside the reference, such as a description, are more specific.
  const { $ref: _reference, $dynamicRef: _dynamic, ...others } = schema;
  root.count(Object.keys(target).length);
  return resolve({ ...target, ...others }, root, depth + 1);
}

/** Joins the members of `allOf` into one schema, as far as a form needs it. */
function merged(schema: Schema, root: SchemaRoot, depth: number): Schema {
  if (!Array.isArray(schema.allOf) || schema.allOf.length === 0) return schema;
  const { allOf, ...own } = schema;
  let result: Schema = {};
  for (const part of [...allOf, own]) {
    const next = part === own ? own : resolve(part, root, depth + 1);
    const properties = { ...asObject(result.properties), ...asObject(next.properties) };
    const required = [...asArray(result.required), ...asArray(next.required)];
    // What is copied counts, because a schema can have many members.
    root.count(Object.keys(next).length + Object.keys(properties).length + required.length);
    result = { ...result, ...next };
    if (Object.keys(properties).length > 0) result.properties = properties;
    if (required.length > 0) result.required = required;
  }
  return result;
}

function lookUp(reference: string, root: SchemaRoot): Json | undefined {
  if (!reference.startsWith("#")) return undefined;
  if (reference === "#") return root.schema;
  if (!reference.startsWith("#/")) return anchored(reference.slice(1), root);
  let current: Json | undefined = root.schema;
  for (const part of reference.slice(2).split("/")) {
    root.count();
    const name = decoded(part)?.replaceAll("~1", "/").replaceAll("~0", "~");
    if (name === undefined) return undefined;
    if (Array.isArray(current)) current = current[Number(name)];
    else if (isObject(current) && Object.hasOwn(current, name)) current = current[name];
    else return undefined;
  }
  return current;
}

/** Decodes a part of a pointer. Returns undefined if its percent-encoding is invalid. */
function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

function anchored(name: string, root: SchemaRoot): Json | undefined {
  const { $defs, definitions } = root.schema;
  const all = [...Object.values(asObject($defs)), ...Object.values(asObject(definitions))];
  root.count(all.length);
  return all.find((one) => isObject(one) && (one.$anchor === name || one.$dynamicAnchor === name));
}

const NO_MEMBERS: JsonObject = {};

/** Returns the value if it is an object. Otherwise returns an empty one, which is always the same. */
export const asObject = (value: Json | undefined): JsonObject => (isObject(value) ? value : NO_MEMBERS);
export const asArray = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);

/** Returns the types that a schema names or implies. */
export function typesOf(schema: Schema): string[] {
  if (typeof schema.type === "string") return [schema.type];
  if (Array.isArray(schema.type)) return schema.type.filter((one) => typeof one === "string");
  if (schema.properties !== undefined) return ["object"];
  if (schema.items !== undefined || schema.prefixItems !== undefined) return ["array"];
  return [];
}

/** The alternatives of a schema, or undefined if it has none. `null` is an alternative of its own. */
export function variantsOf(schema: Schema, root: SchemaRoot): Schema[] | undefined {
  const given = Array.isArray(schema.oneOf) ? schema.oneOf : Array.isArray(schema.anyOf) ? schema.anyOf : undefined;
  if (given && given.length > 0) {
    if (choicesOf(schema, root)) return undefined;
    root.count(given.length * Object.keys(schema).length);
    return given.map((one) => {
      const { oneOf: _one, anyOf: _any, title: _title, description: _description, ...shared } = schema;
      return { ...shared, ...resolve(one, root) };
    });
  }
  const types = typesOf(schema);
  root.count(types.length * Object.keys(schema).length);
  if (types.length > 1) return types.map((type) => ({ ...schema, type }));
  return undefined;
}

export interface Choice {
  value: Json;
  label: string;
}

/** Returns the values of an enumeration: `enum`, or alternatives with one value each. */
export function choicesOf(schema: Schema, root: SchemaRoot): Choice[] | undefined {
  if (Array.isArray(schema.enum)) {
    root.count(schema.enum.length);
    const names = asArray(schema.enumNames);
    return schema.enum.map((value, index) => ({ value, label: labelOf(names[index] ?? value) }));
  }
  if ("const" in schema) return [{ value: schema.const as Json, label: labelOf(schema.const as Json) }];
  const given = Array.isArray(schema.oneOf) ? schema.oneOf : Array.isArray(schema.anyOf) ? schema.anyOf : [];
  const choices = given.map((one) => resolve(one, root));
  if (choices.length === 0 || !choices.every((one) => "const" in one)) return undefined;
  return choices.map((one) => {
    const value = one.const as Json;
    return { value, label: typeof one.title === "string" ? one.title : labelOf(value) };
  });
}

export const labelOf = (value: Json): string => (typeof value === "string" ? value : JSON.stringify(value));

/** Returns a short name of a variant for the chooser. */
export function variantLabel(schema: Schema, index: number): string {
  if (typeof schema.title === "string") return schema.title;
  // A member with one value tells variants of objects apart.
  for (const [name, member] of Object.entries(asObject(schema.properties))) {
    const value = asObject(member).const ?? asArray(asObject(member).enum)[0];
    if (value !== undefined) return `${name}: ${labelOf(value)}`;
  }
  const types = typesOf(schema);
  return types.length > 0 ? types.join(" or ") : `variant ${index + 1}`;
}

/**
 * Returns the value that a form starts with. Members that are not required are absent. If the schema is beyond the
 * limits, the user has to write the value.
 */
export function initialValue(schema: Json | undefined, root: SchemaRoot, depth = 0): Json {
  try {
    return firstValue(schema, root.again(), depth);
  } catch (error) {
    if (error instanceof SchemaLimitError) return depth === 0 ? {} : null;
    throw error;
  }
}

/** The depth from which required members are left out. */
const MAX_INITIAL_DEPTH = 16;

function firstValue(schema: Json | undefined, root: SchemaRoot, depth: number): Json {
  const resolved = resolve(schema, root);
  // Values are never changed in place, so the default needs no copy.
  if (resolved.default !== undefined) return resolved.default;
  const choices = choicesOf(resolved, root);
  if (choices?.[0]) return choices[0].value;
  const variants = variantsOf(resolved, root);
  if (variants?.[0]) return depth > MAX_INITIAL_DEPTH ? null : firstValue(variants[0], root, depth + 1);
  switch (typesOf(resolved)[0]) {
    case "object": {
      const required = new Set(asArray(resolved.required));
      const members = Object.entries(asObject(resolved.properties)).filter(([name, member]) => {
        const hasDefault = resolve(member, root).default !== undefined;
        // A cycle of required members ends here, and the user sees that the value is incomplete.
        return (required.has(name) || hasDefault) && depth < MAX_INITIAL_DEPTH;
      });
      return Object.fromEntries(members.map(([name, member]) => [name, firstValue(member, root, depth + 1)]));
    }
    case "array":
      return [];
    case "boolean":
      return false;
    case "number":
    case "integer":
      return typeof resolved.minimum === "number" ? resolved.minimum : 0;
    case "null":
      return null;
    case "string":
      return "";
    default:
      return depth === 0 ? {} : "";
  }
}
