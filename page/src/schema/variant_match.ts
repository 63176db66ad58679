// Tells which variant of a schema a value has, by some keywords of JSON Schema. The command checks whether a value is valid.

import { equal, isInteger, isObject, isRawNumber, numberText, type Json } from "../json";
import { checkDepth, type SchemaRoot } from "./limits";
import { asArray, asObject, resolve, typesOf } from "./resolve";

/** Returns true if the value can be of the variant. Throws a SchemaLimitError if that takes too long. */
export function matches(value: Json | undefined, given: Json | undefined, root: SchemaRoot, depth = 0): boolean {
  checkDepth(depth);
  if (given === false) return false;
  const schema = resolve(given, root);
  const types = schema.type === undefined ? [] : typesOf(schema);
  root.count(types.length + asArray(schema.enum).length + asArray(schema.required).length);
  if (types.length > 0 && !types.some((type) => hasType(value, type))) return false;
  const isValue = (one: Json | undefined) => {
    // Values of different types are not compared further.
    if (typeOf(one) === typeOf(value)) countElements(value, root, depth);
    return equal(one, value);
  };
  if (Array.isArray(schema.enum) && !schema.enum.some(isValue)) return false;
  if ("const" in schema && !isValue(schema.const)) return false;
  const branches = (keyword: string) => asArray(schema[keyword]).filter((one) => matches(value, one, root, depth + 1));
  if (Array.isArray(schema.anyOf) && branches("anyOf").length === 0) return false;
  if (Array.isArray(schema.oneOf) && branches("oneOf").length !== 1) return false;
  if (Array.isArray(value)) {
    const first = asArray(schema.prefixItems);
    return value.every((item, index) => {
      const rule = first[index] ?? schema.items;
      return rule === undefined || Array.isArray(rule) || matches(item, rule, root, depth + 1);
    });
  }
  if (!isObject(value)) return true;
  const isPresent = (name: Json) => typeof name !== "string" || Object.hasOwn(value, name);
  if (!asArray(schema.required).every(isPresent)) return false;
  const properties = asObject(schema.properties);
  return Object.entries(value).every(([name, member]) => {
    const rule = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
    return rule === undefined || rule === true || matches(member, rule, root, depth + 1);
  });
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

/** Counts the items and members of a value, which a comparison reads. */
function countElements(value: Json | undefined, root: SchemaRoot, depth: number): void {
  checkDepth(depth);
  const elements = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
  root.count(elements.length);
  for (const element of elements) countElements(element, root, depth + 1);
}
