// Checks a value against the common keywords of JSON Schema. Other keywords are not checked.

import { equal, isInteger, isObject, isRawNumber, numberText, type Json } from "../json";
import { SchemaLimitError, SchemaRoot, checkDepth, type Schema } from "./limits";
import { asArray, asObject, resolve, typesOf } from "./resolve";

export interface Violation {
  path: string;
  message: string;
}

/** The outcome of a check. */
export interface Checked {
  violations: Violation[];
  /** Why the value cannot be checked: the schema or the value is beyond a limit. */
  problem?: string;
}

/** The maximum number of violations that are reported. */
const MAX_VIOLATIONS = 20;

/** Checks a value. */
export function validate(value: Json | undefined, schema: Schema): Checked {
  const violations: Violation[] = [];
  try {
    check(value, schema, new SchemaRoot(schema), "", violations, 0);
  } catch (error) {
    if (error instanceof SchemaLimitError) return { violations: [], problem: error.message };
    throw error;
  }
  return { violations };
}

/** Returns true if the value has no violations. Throws a SchemaLimitError if it cannot be checked. */
export function matches(value: Json | undefined, schema: Json, root: SchemaRoot, depth = 0): boolean {
  const found: Violation[] = [];
  check(value, schema, root, "", found, depth);
  return found.length === 0;
}

function typeOf(value: Json | undefined): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (isRawNumber(value)) return "number";
  return typeof value;
}

function hasType(value: Json | undefined, type: string): boolean {
  if (type === "integer") {
    const text = numberText(value);
    return text !== undefined && isInteger(text);
  }
  return typeOf(value) === type;
}

function check(
  value: Json | undefined,
  given: Json | undefined,
  root: SchemaRoot,
  path: string,
  found: Violation[],
  depth: number,
): void {
  if (found.length >= MAX_VIOLATIONS) return;
  checkDepth(depth);
  const fail = (message: string) => found.push({ path: path || "/", message });
  if (given === false) {
    fail("is not permitted");
    return;
  }
  const schema = resolve(given, root);
  const types = schema.type === undefined ? [] : typesOf(schema);
  root.count(types.length + asArray(schema.enum).length + asArray(schema.required).length);
  if (types.length > 0 && !types.some((type) => hasType(value, type))) {
    fail(`is ${typeOf(value)}, not ${types.join(" or ")}`);
    return;
  }
  const isValue = (one: Json | undefined) => {
    // Values of different types are not compared further.
    if (typeOf(one) === typeOf(value)) countElements(value, root, depth);
    return equal(one, value);
  };
  if (Array.isArray(schema.enum) && !schema.enum.some(isValue)) fail("is not one of the values");
  if ("const" in schema && !isValue(schema.const)) fail(`is not ${JSON.stringify(schema.const)}`);
  const branches = (keyword: string) => asArray(schema[keyword]).filter((one) => matches(value, one, root, depth + 1));
  if (Array.isArray(schema.anyOf) && branches("anyOf").length === 0) fail("matches no variant");
  if (Array.isArray(schema.oneOf)) {
    const count = branches("oneOf").length;
    if (count !== 1) fail(count === 0 ? "matches no variant" : "matches more than one variant");
  }
  checkNumber(value, schema, fail);
  if (typeof value === "string") checkString(value, schema, root, fail);
  if (Array.isArray(value)) checkArray(value, schema, root, path, found, fail, depth);
  if (isObject(value)) {
    for (const name of asArray(schema.required)) {
      if (typeof name === "string" && !Object.hasOwn(value, name)) fail(`has no member \`${name}\``);
    }
    const properties = asObject(schema.properties);
    for (const [name, member] of Object.entries(value)) {
      const rule = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
      if (rule === undefined || rule === true) continue;
      check(member, rule, root, `${path}/${name}`, found, depth + 1);
    }
  }
}

/** Counts the items and members of a value, which a comparison reads. */
function countElements(value: Json | undefined, root: SchemaRoot, depth: number): void {
  checkDepth(depth);
  const elements = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
  root.count(elements.length);
  for (const element of elements) countElements(element, root, depth + 1);
}

function checkNumber(value: Json | undefined, schema: Schema, fail: (message: string) => void): void {
  const text = numberText(value);
  if (text === undefined) return;
  const number = Number(text);
  const limit = (keyword: string) => {
    const given = numberText(schema[keyword]);
    return given === undefined ? undefined : Number(given);
  };
  const [minimum, maximum] = [limit("minimum"), limit("maximum")];
  const [above, below] = [limit("exclusiveMinimum"), limit("exclusiveMaximum")];
  if (minimum !== undefined && number < minimum) fail(`is less than ${minimum}`);
  if (maximum !== undefined && number > maximum) fail(`is greater than ${maximum}`);
  if (above !== undefined && number <= above) fail(`is not greater than ${above}`);
  if (below !== undefined && number >= below) fail(`is not less than ${below}`);
}

function checkString(value: string, schema: Schema, root: SchemaRoot, fail: (message: string) => void): void {
  const { minLength, maxLength } = schema;
  if (typeof minLength !== "number" && typeof maxLength !== "number") return;
  root.count(value.length >> 6);
  const length = [...value].length;
  if (typeof minLength === "number" && length < minLength) fail(`is shorter than ${minLength}`);
  if (typeof maxLength === "number" && length > maxLength) fail(`is longer than ${maxLength}`);
}

function checkArray(
  value: Json[],
  schema: Schema,
  root: SchemaRoot,
  path: string,
  found: Violation[],
  fail: (message: string) => void,
  depth: number,
): void {
  if (typeof schema.minItems === "number" && value.length < schema.minItems) fail(`has less than ${schema.minItems} items`);
  if (typeof schema.maxItems === "number" && value.length > schema.maxItems) fail(`has more than ${schema.maxItems} items`);
  const first = asArray(schema.prefixItems);
  value.forEach((item, index) => {
    const rule = first[index] ?? schema.items;
    if (rule !== undefined && !Array.isArray(rule)) check(item, rule, root, `${path}/${index}`, found, depth + 1);
  });
}
