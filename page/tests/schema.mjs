// Schemas at the limits and beyond them, without a page.

import { bundled, check, ensure, equal } from "./browser.mjs";

export async function schemaChecks() {
  const { CHANGED_NUMBER, MAX_DEPTH, MAX_STEPS, SchemaRoot, initialValue, matches, resolve } = await bundled(
    'export { CHANGED_NUMBER } from "./json"; export * from "./schema/limits"; export * from "./schema/resolve"; export * from "./schema/variant_match";',
  );
  /** Returns a schema with this many references in a row, of which the last one refers to a string. */
  const chain = (length) => {
    const definitions = Object.fromEntries(
      Array.from({ length }, (_, index) => [`d${index}`, index === length - 1 ? { type: "string" } : { $ref: `#/$defs/d${index + 1}` }]),
    );
    return { $ref: "#/$defs/d0", $defs: definitions };
  };
  /** Returns lists inside of each other. */
  const nested = (depth) => (depth === 0 ? [] : [nested(depth - 1)]);
  const isVariant = (value, schema) => matches(value, schema, new SchemaRoot(schema));
  const problemOf = (value, schema) => {
    try {
      isVariant(value, schema);
      return undefined;
    } catch (error) {
      return error.message;
    }
  };

  await check("numbers_whose_text_would_change_are_found", async () => {
    const wholes = ["0", "7", "100", "123456789012345", "1234567890123456", "9007199254740993", "1234567890123456789012"];
    const fractions = ["", ".0", ".5", ".50", ".000001", ".0000001", ".123456789", ".12345678901234567"];
    for (const sign of ["", "-"]) {
      for (const whole of wholes) {
        for (const fraction of fractions) {
          for (const power of ["", "e3", "E-2"]) {
            const text = sign + whole + fraction + power;
            ensure(String(Number(text)) === text || CHANGED_NUMBER.test(text), text);
          }
        }
      }
    }
    equal(["0", "-7", "100", "0.5", "-0.25", "123456.789", "123456789012345"].filter((text) => CHANGED_NUMBER.test(text)), []);
  });

  await check("numbers_are_compared_exactly", async () => {
    // Old versions of Node.js cannot make such numbers. Browsers can.
    JSON.isRawJSON ??= (value) => typeof value?.rawJSON === "string";
    const raw = (text) => ({ rawJSON: text });
    const isValue = (text, expected) => isVariant(raw(text), { const: expected });
    const big = raw("12345678901234567890");
    ensure(isValue("12345678901234567890", big) && isValue("1234567890123456789e1", big), "the same number");
    ensure(!isValue("12345678901234567891", big), "another number");
    for (const text of ["1.0", "10e-1", "0.1E+1", "1"]) ensure(isValue(text, 1), text);
    for (const text of ["0.0", "-0", "0e5"]) ensure(isValue(text, 0), text);
    for (const [text, expected] of [["1.0", true], ["1e3", true], ["12345678901234567890.5", false], ["15e-1", false]]) {
      equal(isVariant(raw(text), { type: "integer" }), expected, text);
    }
  });

  await check("depth_is_limited", async () => {
    equal(resolve(chain(MAX_DEPTH), new SchemaRoot(chain(MAX_DEPTH))).type, "string", "the last definition");
    equal(problemOf("text", chain(MAX_DEPTH)), undefined);
    const beyond = "the schema or the value is nested more than 64 levels deep";
    equal(problemOf("text", chain(MAX_DEPTH + 1)), beyond);
    const recursive = { type: "array", items: { $ref: "#" } };
    equal(problemOf(nested(MAX_DEPTH), recursive), undefined);
    equal(problemOf(nested(MAX_DEPTH + 1), recursive), beyond);
  });

  await check("steps_are_limited", async () => {
    // The list is one step, and each item another one.
    const items = (count) => problemOf(Array(count).fill(1), { items: {} });
    equal(items(MAX_STEPS - 1), undefined);
    const beyond = "the schema or the value needs more than 200000 steps";
    equal(items(MAX_STEPS), beyond);
    // Each comparison counts the items of the value.
    const list = Array(MAX_STEPS / 2).fill(1);
    equal(problemOf(list, { const: [...list] }), undefined);
    equal(problemOf(list, { enum: ["text", 1, [0]] }), undefined);
    equal(problemOf(list, { enum: [[0], [0], [0]] }), beyond);
  });

  await check("endless_schemas_end", async () => {
    const twice = (keyword) => ({ [keyword]: [{ $ref: "#" }, { $ref: "#" }] });
    for (const schema of [{ $ref: "#" }, { allOf: [{ $ref: "#" }] }, twice("allOf"), twice("anyOf"), twice("oneOf")]) {
      ensure(problemOf({}, schema) !== undefined, JSON.stringify(schema));
      initialValue(schema, new SchemaRoot(schema));
    }
    // Each level doubles the number of schemas.
    const levels = 30;
    const doubling = (schemaOf) => {
      const entries = Array.from({ length: levels }, (_, level) => {
        const next = { $ref: `#/$defs/d${level + 1}` };
        return [`d${level}`, level === levels - 1 ? {} : schemaOf([next, next])];
      });
      return { $ref: "#/$defs/d0", $defs: Object.fromEntries(entries) };
    };
    for (const keyword of ["allOf", "anyOf", "oneOf"]) {
      const problem = problemOf({}, doubling((both) => ({ [keyword]: both })));
      equal(problem, "the schema or the value needs more than 200000 steps", keyword);
    }
    const members = doubling(([a, b]) => ({ type: "object", properties: { a, b }, required: ["a", "b"] }));
    equal(initialValue(members, new SchemaRoot(members)), {}, "value");
  });

  await check("invalid_references_are_no_constraint", async () => {
    for (const reference of ["#/$defs/%", "#/$defs/%ff", "#/absent", "#absent", "https://example.com/schema"]) {
      ensure(isVariant(1, { $ref: reference, $defs: {} }), reference);
    }
    ensure(!isVariant(1, { $ref: "#/$defs/a%25b", $defs: { "a%b": { type: "string" } } }), "an escaped name");
    ensure(isVariant({}, { type: [{ toString: 1 }], required: [{ toString: 1 }] }), "invalid keywords");
  });
}
