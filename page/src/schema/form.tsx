// A form for a value with a JSON Schema. It changes only the members that it shows.

import { useId } from "preact/hooks";
import { equal, isObject, type Json, type JsonObject } from "../json";
import { plainLine, plainText } from "../plain_text";
import { Row, hintOf, type FieldProps, type Resolved } from "./field_row";
import { checkDepth, type Schema, type SchemaRoot } from "./limits";
import { asArray, asObject, choicesOf, initialValue, resolve, typesOf, variantLabel, variantsOf } from "./resolve";
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
      return isObject(props.value) ? <ObjectField {...props} schema={schema} /> : <OtherField {...props} schema={schema} />;
    case "array":
      return Array.isArray(props.value) ? (
        <ArrayField {...props} schema={schema} />
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

/** The depth from which nested objects are folded. */
const FOLDED_DEPTH = 12;

function ObjectField(props: Resolved) {
  const { schema, root } = props;
  const value = props.value as JsonObject;
  const depth = props.depth ?? 0;
  const body = <Members schema={schema} root={root} value={value} onChange={props.onChange} depth={depth} />;
  if (depth === 0) return body;
  return (
    <Row
      {...props}
      id={undefined}
      control={
        <details class="nested" open={depth < FOLDED_DEPTH}>
          <summary>{plainLine(props.label)}</summary>
          {body}
        </details>
      }
    />
  );
}

function Members(props: {
  schema: Schema;
  root: SchemaRoot;
  value: JsonObject;
  onChange: (value: Json) => void;
  depth: number;
}) {
  const { schema, root, value, onChange, depth } = props;
  const properties = asObject(schema.properties);
  const required = new Set(asArray(schema.required));
  const others = Object.keys(value).filter((name) => !Object.hasOwn(properties, name));
  const set = (name: string, member: Json) => onChange({ ...value, [name]: member });
  const remove = (name: string) => {
    const { [name]: _removed, ...rest } = value;
    onChange(rest);
  };
  return (
    <>
      {Object.entries(properties).map(([name, member]) => {
        const resolved = resolve(member, root);
        const label = typeof resolved.title === "string" && resolved.title !== name ? `${name} – ${resolved.title}` : name;
        if (!Object.hasOwn(value, name)) {
          const hidden = member === false;
          return hidden ? null : (
            <div class="field absent" key={name}>
              <span class="label">
                {plainLine(label)}
                {required.has(name) && <span class="required"> (required)</span>}
              </span>
              <button
                type="button"
                class="small"
                onClick={() => set(name, initialValue(member, root))}
                aria-label={`Add ${plainLine(label)}`}
              >
                Add
              </button>
              {typeof resolved.description === "string" && <p class="description">{plainText(resolved.description)}</p>}
            </div>
          );
        }
        return (
          <Field
            key={name}
            label={label}
            schema={member}
            root={root}
            value={value[name] as Json}
            required={required.has(name)}
            onChange={(next) => set(name, next)}
            onRemove={required.has(name) ? undefined : () => remove(name)}
            depth={depth + 1}
          />
        );
      })}
      {others.length > 0 && (
        <p class="hint">Members that the form does not show: {others.map(plainLine).join(", ")}. Edit them as JSON.</p>
      )}
      {Object.keys(properties).length === 0 && others.length === 0 && depth === 0 && <p class="hint">No arguments.</p>}
    </>
  );
}

function ArrayField(props: Resolved) {
  const { schema, root, label, onChange } = props;
  const items = props.value as Json[];
  const first = asArray(schema.prefixItems);
  const ruleOf = (index: number): Json | undefined => first[index] ?? (Array.isArray(schema.items) ? schema.items[index] : schema.items);
  const move = (from: number, to: number) => {
    const next = [...items];
    next.splice(to, 0, ...next.splice(from, 1));
    onChange(next);
  };
  const name = plainLine(label);
  const control = (
    <div class="items" role="group" aria-label={`Items of ${name}`}>
      {items.map((item, index) => (
        <Field
          key={index}
          label={`${label} ${index + 1}`}
          schema={ruleOf(index)}
          root={root}
          value={item}
          onChange={(next) => onChange(items.map((one, position) => (position === index ? next : one)))}
          onRemove={() => onChange(items.filter((_, position) => position !== index))}
          actions={
            <>
              <button type="button" class="small" disabled={index === 0} onClick={() => move(index, index - 1)} aria-label={`Move ${name} ${index + 1} up`}>
                ↑
              </button>
              <button
                type="button"
                class="small"
                disabled={index === items.length - 1}
                onClick={() => move(index, index + 1)}
                aria-label={`Move ${name} ${index + 1} down`}
              >
                ↓
              </button>
            </>
          }
          depth={(props.depth ?? 0) + 1}
        />
      ))}
      <button type="button" class="small" onClick={() => onChange([...items, initialValue(ruleOf(items.length), root, 1)])}>
        Add item to {name}
      </button>
    </div>
  );
  return <Row {...props} id={undefined} control={control} hint={hintOf(schema)} />;
}
