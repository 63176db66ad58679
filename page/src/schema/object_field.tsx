// The field of an object: the members of its schema, and other members with names of the user.

import { useRef, useState } from "preact/hooks";
import { isObject, type Json, type JsonObject } from "../json";
import { plainLine, plainText } from "../plain_text";
import { Parts } from "../widgets/parts";
import { Row, type Resolved } from "./field_row";
import { focusField, useFocusAfterChange } from "./focus";
import { Field } from "./form";
import type { Schema } from "./limits";
import { asArray, asObject, initialValue, resolve } from "./resolve";

/** The depth from which nested objects are folded. */
const FOLDED_DEPTH = 12;

/** The number of other members that are laid out at a time. */
const OTHERS = 50;

type ObjectProps = Omit<Resolved, "value"> & { value: JsonObject };

export function ObjectField(props: ObjectProps) {
  const depth = props.depth ?? 0;
  const body = <Members {...props} depth={depth} />;
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

function Members(props: ObjectProps & { depth: number }) {
  const { schema, root, value, onChange, depth } = props;
  const members = useRef<HTMLDivElement>(null);
  const focusAfterChange = useFocusAfterChange();
  const properties = asObject(schema.properties);
  const required = new Set(asArray(schema.required));
  const others = Object.keys(value).filter((name) => !Object.hasOwn(properties, name));
  const rule = ruleOfOthers(schema, depth);
  const isEmpty = Object.keys(properties).length === 0 && others.length === 0;
  const elementOf = (name: string) =>
    [...(members.current?.children ?? [])].find((one) => (one as HTMLElement).dataset.member === name);
  const set = (name: string, member: Json) => onChange({ ...value, [name]: member });
  const add = (name: string, member: Json | undefined) => {
    focusAfterChange(() => focusField(elementOf(name)) || focusField(members.current?.lastElementChild));
    set(name, initialValue(member, root, 1));
  };
  const remove = (name: string) => {
    const position = others.indexOf(name);
    const neighbour = others[position + 1] ?? others[position - 1];
    const next = position < 0 ? name : neighbour;
    focusAfterChange(() => (next !== undefined && focusField(elementOf(next))) || focusField(members.current?.lastElementChild));
    const { [name]: _removed, ...rest } = value;
    onChange(rest);
  };
  return (
    <div class="members" ref={members}>
      {Object.entries(properties).map(([name, member]) => {
        const resolved = resolve(member, root);
        const label = typeof resolved.title === "string" && resolved.title !== name ? `${name} – ${resolved.title}` : name;
        const isAbsent = !Object.hasOwn(value, name);
        if (isAbsent && member === false) return null;
        return (
          <div key={name} data-member={name}>
            {isAbsent ? (
              <AbsentMember label={label} schema={resolved} required={required.has(name)} onAdd={() => add(name, member)} />
            ) : (
              <Field
                label={label}
                schema={member}
                root={root}
                value={value[name] as Json}
                required={required.has(name)}
                onChange={(next) => set(name, next)}
                onRemove={required.has(name) ? undefined : () => remove(name)}
                depth={depth + 1}
              />
            )}
          </div>
        );
      })}
      {rule === undefined && others.length > 0 && (
        <p class="hint">Members that the form does not show: {others.map(plainLine).join(", ")}. Edit them as JSON.</p>
      )}
      {rule !== undefined && (
        <Parts
          items={others}
          size={OTHERS}
          render={(name) => (
            <div key={name} data-member={name}>
              <Field
                label={name}
                schema={rule}
                root={root}
                value={value[name] as Json}
                onChange={(next) => set(name, next)}
                onRemove={() => remove(name)}
                depth={depth + 1}
              />
            </div>
          )}
        />
      )}
      {rule !== undefined && (
        <NewMember
          label={props.label}
          isPresent={(name) => Object.hasOwn(value, name)}
          onAdd={(name) => add(name, Object.hasOwn(properties, name) ? properties[name] : rule)}
        />
      )}
      {isEmpty && rule === undefined && depth === 0 && <p class="hint">No arguments.</p>}
    </div>
  );
}

function AbsentMember(props: { label: string; schema: Schema; required: boolean; onAdd: () => void }) {
  const { label, schema } = props;
  return (
    <div class="field absent">
      <span class="label">
        {plainLine(label)}
        {props.required && <span class="required"> (required)</span>}
      </span>
      <button type="button" class="small" onClick={props.onAdd} aria-label={`Add ${plainLine(label)}`}>
        Add
      </button>
      {typeof schema.description === "string" && <p class="description">{plainText(schema.description)}</p>}
    </div>
  );
}

/** Adds a member with a name of the user. */
function NewMember(props: { label: string; isPresent: (name: string) => boolean; onAdd: (name: string) => void }) {
  const [name, setName] = useState("");
  const label = plainLine(props.label);
  const isPresent = props.isPresent(name);
  const add = () => {
    if (isPresent) return;
    props.onAdd(name);
    setName("");
  };
  return (
    <div class="toolbar">
      <input
        type="text"
        class="name-field"
        aria-label={`Name of a new member of ${label}`}
        placeholder="name"
        autocomplete="off"
        spellcheck={false}
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.isComposing || event.ctrlKey || event.metaKey || name === "") return;
          event.preventDefault();
          add();
        }}
      />
      <button type="button" class="small" disabled={name === "" || isPresent} onClick={add} aria-label={`Add member to ${label}`}>
        Add member
      </button>
      <span class="hint" role="status">
        {isPresent ? "There is a member with this name." : ""}
      </span>
    </div>
  );
}

/**
 * Returns the schema of members without a schema of their own, or undefined if the form does not show them. Patterns of the
 * server are not run, because that can take any time. The command checks the names.
 */
function ruleOfOthers(schema: Schema, depth: number): Json | undefined {
  const { additionalProperties: others } = schema;
  const patterns = Object.values(asObject(schema.patternProperties));
  const isTyped = isObject(others) && Object.keys(others).length > 0;
  if (patterns.length > 0) return patterns.length === 1 && !isTyped ? patterns[0] : {};
  if (isTyped) return others;
  if (others === false || Object.keys(asObject(schema.properties)).length > 0) return undefined;
  // An object without any keyword is one without arguments, or a value with any members.
  return others === undefined && depth === 0 ? undefined : {};
}
