// A form for a value with a JSON Schema. It changes only the members that it shows.

import { useId } from "preact/hooks";
import { equal, isObject, type Json } from "../json";
import { plainLine } from "../plain_text";
import { ArrayField } from "./array_field";
import { Row, type FieldProps, type Resolved } from "./field_row";
import { checkDepth, type Schema, type SchemaRoot } from "./limits";
import { ObjectField } from "./object_field";
import { asObject, choicesOf, initialValue, resolve, typesOf, variantLabel, variantsOf } from "./resolve";
import { BooleanField, ChoiceField, NumberField, OtherField } from "./simple_fields";
import { TextField } from "./text_field";
import { matches } from "./variant_match";

/** One value of a form. Throws a SchemaLimitError if its schema or the whole form is beyond a limit. */
export function Field(props: FieldProps) {
  checkDepth(props.depth ?? 0);
  const schema = resolve(props.schema, props.root);
  const choices = choicesOf(schema, props.root);
  if (choices) return <ChoiceField {...props} schema={schema} />;
  const variants = variantsOf(schema, props.root);
  if (variants) return <VariantField {...props} schema={schema} variants={variants} />;
  switch (typesOf(schema)[0]) {
    case "object":
      return isObject(props.value) ? (
        <ObjectField {...props} schema={schema} value={props.value} />
      ) : (
        <OtherField {...props} schema={schema} />
      );
    case "array":
      return Array.isArray(props.value) ? (
        <ArrayField {...props} schema={schema} value={props.value} />
      ) : (
        <OtherField {...props} schema={schema} />
      );
    case "boolean":
      return <BooleanField {...props} schema={schema} />;
    case "number":
    case "integer":
      return <NumberField {...props} schema={schema} />;
    case "null":
      return <Row {...props} schema={schema} id={undefined} control={<code>null</code>} />;
    case "string":
    case undefined:
      return typeof props.value === "string" ? (
        <TextField {...props} schema={schema} value={props.value} />
      ) : (
        <OtherField {...props} schema={schema} />
      );
    default:
      return <OtherField {...props} schema={schema} />;
  }
}

/** A value with alternatives: a chooser, and the field of the alternative that the value has. */
function VariantField(props: Resolved & { variants: Schema[] }) {
  const id = useId();
  const { variants, root, value } = props;
  const chosen = variantOf(value, variants, root);
  const variant = variants[chosen];
  const control = (
    <>
      <select
        id={id}
        value={String(chosen)}
        onChange={(event) => {
          const next = variants[Number(event.currentTarget.value)];
          if (next) props.onChange(withTags(initialValue(next, root), next));
        }}
      >
        {chosen < 0 && <option value="-1">another value</option>}
        {variants.map((one, index) => (
          <option key={index} value={String(index)}>
            {plainLine(variantLabel(one, index))}
          </option>
        ))}
      </select>
      {variant && typesOf(variant)[0] !== "null" && (
        <Field
          label={`${props.label}: ${variantLabel(variant, chosen)}`}
          schema={variant}
          root={root}
          value={value}
          onChange={props.onChange}
          depth={(props.depth ?? 0) + 1}
        />
      )}
    </>
  );
  return <Row {...props} id={id} control={control} />;
}

/** Returns the position of the variant that the value has: by the whole schema, by its tags, or by its type. Otherwise -1. */
function variantOf(value: Json, variants: Schema[], root: SchemaRoot): number {
  for (const one of variants) root.count(Object.keys(asObject(one.properties)).length);
  const rules = [
    (one: Schema) => matches(value, one, root),
    (one: Schema) => hasTags(value, one),
    (one: Schema) => matches(value, { type: typesOf(one) }, root),
  ];
  for (const rule of rules) {
    const found = variants.findIndex(rule);
    if (found >= 0) return found;
  }
  return -1;
}

/** Returns true if the value has all members of the variant that have only one possible value. */
function hasTags(value: Json, variant: Schema): boolean {
  const tags = tagsOf(variant);
  return isObject(value) && tags.length > 0 && tags.every(([name, tag]) => equal(value[name], tag));
}

function withTags(value: Json, variant: Schema): Json {
  return isObject(value) ? { ...value, ...Object.fromEntries(tagsOf(variant)) } : value;
}

function tagsOf(variant: Schema): [string, Json][] {
  return Object.entries(asObject(variant.properties)).flatMap(([name, member]) =>
    isObject(member) && "const" in member ? [[name, member.const as Json] as [string, Json]] : [],
  );
}
