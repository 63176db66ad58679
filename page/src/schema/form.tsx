// A form for a value with a JSON Schema. It changes only the members that it shows.

import { useId } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { equal, isObject, numberText, parseNumber, type Json, type JsonObject } from "../json";
import { plainLine, plainText } from "../plain_text";
import {
  asArray,
  asObject,
  choicesOf,
  initialValue,
  resolve,
  typesOf,
  variantLabel,
  variantsOf,
  type Schema,
} from "./resolve";
import { matches } from "./validate";

export interface FieldProps {
  label: string;
  schema: Json | undefined;
  root: Schema;
  value: Json;
  onChange: (value: Json) => void;
  required?: boolean;
  /** Removes the member, if it may be absent. */
  onRemove?: (() => void) | undefined;
  /** Buttons beside the label, such as those of an array. */
  actions?: ComponentChildren;
  /** Completions of a text, if the server offers them. */
  suggestions?: string[] | undefined;
  onTyped?: ((text: string) => void) | undefined;
  depth?: number;
}

/** One value of a form. */
export function Field(props: FieldProps) {
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
    case "string":
      return <TextField {...props} schema={schema} />;
    case "null":
      return <Row {...props} schema={schema} id={undefined} control={<code>null</code>} />;
    default:
      return <OtherField {...props} schema={schema} />;
  }
}

type Resolved = FieldProps & { schema: Schema };

/** The label, the description, and the buttons of a field. */
function Row(props: Resolved & { id: string | undefined; control: ComponentChildren; hint?: string | undefined }) {
  const description = props.schema.description;
  const label = (
    <>
      {plainLine(props.label)}
      {props.required && <span class="required"> (required)</span>}
    </>
  );
  return (
    <div class="field">
      <div class="field-head">
        {props.id ? <label for={props.id}>{label}</label> : <span class="label">{label}</span>}
        {props.actions}
        {props.onRemove && (
          <button type="button" class="small" onClick={props.onRemove} aria-label={`Remove ${plainLine(props.label)}`}>
            Remove
          </button>
        )}
      </div>
      {typeof description === "string" && (
        <p class="description" id={props.id && `${props.id}-description`}>
          {plainText(description)}
        </p>
      )}
      {props.control}
      {props.hint && <p class="hint">{props.hint}</p>}
    </div>
  );
}

const describedBy = (id: string, schema: Schema) =>
  typeof schema.description === "string" ? { "aria-describedby": `${id}-description` } : {};

function TextField(props: Resolved) {
  const id = useId();
  const { schema, value } = props;
  const text = typeof value === "string" ? value : undefined;
  if (text === undefined) return <OtherField {...props} />;
  const change = (event: Event) => {
    const typed = (event.currentTarget as HTMLInputElement).value;
    props.onTyped?.(typed);
    props.onChange(typed);
  };
  const types: Record<string, "email" | "url" | "date" | "text"> = { email: "email", uri: "url", date: "date", time: "text", "date-time": "text" };
  const format = typeof schema.format === "string" ? schema.format : undefined;
  const isLong = text.includes("\n") || text.length > 80 || schema.contentMediaType !== undefined;
  const common = { id, value: text, onInput: change, spellcheck: false, ...describedBy(id, schema) };
  const list = props.suggestions && props.suggestions.length > 0 ? `${id}-list` : undefined;
  const control = isLong ? (
    <textarea rows={Math.min(12, text.split("\n").length + 1)} {...common} />
  ) : (
    <>
      <input type={(format && types[format]) || "text"} autocomplete="off" {...common} {...(list ? { list } : {})} />
      {list && (
        <datalist id={list}>
          {props.suggestions?.map((one) => <option key={one} value={one} />)}
        </datalist>
      )}
    </>
  );
  return <Row {...props} id={id} control={control} hint={hintOf(schema)} />;
}

function hintOf(schema: Schema): string | undefined {
  const parts: string[] = [];
  if (typeof schema.format === "string") parts.push(plainLine(schema.format));
  const range = (low: string, high: string, what: string) => {
    const [minimum, maximum] = [numberText(schema[low]), numberText(schema[high])];
    if (minimum !== undefined && maximum !== undefined) parts.push(`${what}${minimum} to ${maximum}`);
    else if (minimum !== undefined) parts.push(`${what}at least ${minimum}`);
    else if (maximum !== undefined) parts.push(`${what}at most ${maximum}`);
  };
  range("minimum", "maximum", "");
  range("exclusiveMinimum", "exclusiveMaximum", "between (exclusive) ");
  range("minLength", "maxLength", "length ");
  range("minItems", "maxItems", "items ");
  if (typeof schema.pattern === "string") parts.push(`pattern ${plainLine(schema.pattern)}`);
  return parts.length > 0 ? parts.join(", ") : undefined;
}

function NumberField(props: Resolved) {
  const id = useId();
  const text = numberText(props.value) ?? (typeof props.value === "string" ? props.value : undefined);
  if (text === undefined) return <OtherField {...props} />;
  const isInteger = typesOf(props.schema)[0] === "integer";
  const invalid = typeof props.value === "string";
  const change = (event: Event) => {
    const typed = (event.currentTarget as HTMLInputElement).value;
    // Text that is no number yet stays text, so that no typed character is lost. The check reports it.
    props.onChange(parseNumber(typed) ?? typed);
  };
  const control = (
    <input
      id={id}
      type="text"
      inputMode={isInteger ? "numeric" : "decimal"}
      autocomplete="off"
      value={text}
      aria-invalid={invalid}
      onInput={change}
      {...describedBy(id, props.schema)}
    />
  );
  const hint = [isInteger ? "integer" : "number", hintOf(props.schema)].filter(Boolean).join(", ");
  return <Row {...props} id={id} control={control} hint={hint} />;
}

function BooleanField(props: Resolved) {
  const id = useId();
  if (typeof props.value !== "boolean") return <OtherField {...props} />;
  const control = (
    <input
      id={id}
      type="checkbox"
      checked={props.value}
      onChange={(event) => props.onChange(event.currentTarget.checked)}
      {...describedBy(id, props.schema)}
    />
  );
  return <Row {...props} id={id} control={control} />;
}

function ChoiceField(props: Resolved) {
  const id = useId();
  const choices = choicesOf(props.schema, props.root) ?? [];
  const index = choices.findIndex((one) => equal(one.value, props.value));
  const control = (
    <select
      id={id}
      value={String(index)}
      onChange={(event) => {
        const choice = choices[Number(event.currentTarget.value)];
        if (choice) props.onChange(choice.value);
      }}
      {...describedBy(id, props.schema)}
    >
      {index < 0 && <option value="-1">{plainLine(JSON.stringify(props.value))} (not one of the values)</option>}
      {choices.map((one, position) => (
        <option key={position} value={String(position)}>
          {plainLine(one.label)}
        </option>
      ))}
    </select>
  );
  return <Row {...props} id={id} control={control} />;
}

/** A value with alternatives: a chooser, and the field of the alternative that the value has. */
function VariantField(props: Resolved & { variants: Schema[] }) {
  const id = useId();
  const { variants, root, value } = props;
  const byType = variants.findIndex((one) => matches(value, { type: typesOf(one) }, root));
  const exact = variants.findIndex((one) => matches(value, one, root));
  const tagged = variants.findIndex((one) => hasTags(value, one));
  const chosen = [exact, tagged, byType].find((index) => index >= 0) ?? -1;
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
  root: Schema;
  value: JsonObject;
  onChange: (value: Json) => void;
  depth: number;
}) {
  const { schema, root, value, onChange, depth } = props;
  const properties = asObject(schema.properties);
  const required = asArray(schema.required);
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
                {required.includes(name) && <span class="required"> (required)</span>}
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
            required={required.includes(name)}
            onChange={(next) => set(name, next)}
            onRemove={required.includes(name) ? undefined : () => remove(name)}
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

/** A value that the form cannot show. It stays as it is. */
function OtherField(props: Resolved) {
  const isText = typesOf(props.schema).length === 0 && typeof props.value === "string";
  if (isText) return <TextField {...props} />;
  const type = typesOf(props.schema)[0];
  const control = (
    <div>
      <code class="other">{plainLine(JSON.stringify(props.value)).slice(0, 200)}</code>
      {type && (
        <button type="button" class="small" onClick={() => props.onChange(initialValue(props.schema, props.root))}>
          Replace by {type}
        </button>
      )}
    </div>
  );
  return <Row {...props} id={undefined} control={control} hint="The form cannot show this value. Edit it as JSON." />;
}
