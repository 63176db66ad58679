//! Describes the arguments and the result of a tool, with the members of nested objects.

use std::fmt::Write;

use crate::show::lists::first_paragraph;
use crate::show::{Style, Table, plain_text};
use crate::tool_arguments::Schema;

/// The number of objects inside each other whose members are shown.
const MAX_NESTING: usize = 4;

/// The number of arguments and members that are shown, and the number of members in the summary of a result.
const MAX_ROWS: usize = 200;

/// An argument or a member of an argument.
#[derive(Debug)]
struct ArgumentRow {
    /// The name on the command line, such as `place.city`. Elements of an array are named `places[]`.
    path: String,
    /// `true` for an argument, `false` for a member of one.
    is_argument: bool,
    summary: String,
    is_required: bool,
    /// Whether it is required, or its default.
    need: String,
    description: String,
}

/// Describes the arguments of a tool.
pub(crate) fn usage(name: &str, schema: Schema<'_>, style: Style) -> String {
    let mut text = format!("usage: {}", plain_text(name));
    let mut table = Table::new(&["ARGUMENT", "TYPE", "", "DESCRIPTION"]);
    for field in fields(schema) {
        if field.is_argument {
            let given = format!("{}={}", field.path, placeholder(&field.summary));
            let given = plain_text(&given);
            let _ = if field.is_required {
                write!(text, " {given}")
            } else {
                write!(text, " [{given}]")
            };
        }
        table.row([&field.path, &field.summary, &field.need, &field.description]);
    }
    text.push('\n');
    if !table.is_empty() {
        let _ = write!(text, "\n{}", table.render(style));
    }
    text
}

/// Returns the names of the arguments. Optional ones are in brackets.
pub(super) fn argument_names(schema: Schema<'_>) -> Vec<String> {
    let arguments = fields(schema).into_iter().filter(|field| field.is_argument);
    arguments
        .map(|field| {
            if field.is_required {
                field.path
            } else {
                format!("[{}]", field.path)
            }
        })
        .collect()
}

/// Returns the members of a result in one line.
pub(super) fn result_summary(schema: Schema<'_>) -> String {
    let mut left = MAX_ROWS;
    summary_within(schema, MAX_NESTING, &mut left)
}

/// `left` is the number of members that the whole summary may still contain.
fn summary_within(schema: Schema<'_>, depth: usize, left: &mut usize) -> String {
    let variants = schema.variants();
    let kinds = schema.kinds();
    let (Some(depth), false) = (depth.checked_sub(1), variants.is_empty()) else {
        return match (depth.checked_sub(1), schema.items()) {
            (Some(depth), Some(items)) if kinds.array && !items.variants().is_empty() => {
                format!("{}…", summary_within(items, depth, left))
            }
            _ => schema.summary(),
        };
    };
    let mut shown = Vec::new();
    for variant in variants {
        if *left == 0 {
            shown.push("…".to_owned());
            break;
        }
        shown.push(variant_summary(variant, depth, left));
    }
    if kinds.null {
        shown.push("null".to_owned());
    }
    shown.join(" | ")
}

/// Returns the members of an object in one line.
fn variant_summary(variant: Schema<'_>, depth: usize, left: &mut usize) -> String {
    let members = variant.properties();
    if members.is_empty() {
        return "object".to_owned();
    }
    let mut shown = Vec::new();
    for (name, member) in members {
        let Some(rest) = left.checked_sub(1) else {
            shown.push("…".to_owned());
            break;
        };
        *left = rest;
        shown.push(format!("{name}: {}", summary_within(member, depth, left)));
    }
    format!("{{{}}}", shown.join(", "))
}

/// Returns the arguments of a tool, each one followed by its members.
fn fields(schema: Schema<'_>) -> Vec<ArgumentRow> {
    let mut fields = Vec::new();
    add_fields(&mut fields, &[schema], "", MAX_NESTING);
    fields
}

/// Adds the members of an object, which may have several schemas.
fn add_fields(fields: &mut Vec<ArgumentRow>, schemas: &[Schema<'_>], prefix: &str, depth: usize) {
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    let variants: Vec<_> = schemas
        .iter()
        .flat_map(|schema| schema.variants())
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in variants.iter().flat_map(|variant| variant.properties()) {
        // No more than these can be shown, and every name is compared with the others.
        if names.len() == MAX_ROWS {
            break;
        }
        if !names.contains(&name) {
            names.push(name);
        }
    }
    for name in names {
        if fields.len() >= MAX_ROWS {
            return;
        }
        let having: Vec<_> = variants
            .iter()
            .filter_map(|variant| Some((*variant, variant.member(name)?)))
            .collect();
        let members: Vec<_> = having.iter().map(|(_, member)| *member).collect();
        let is_required = having
            .iter()
            .all(|(variant, _)| variant.required().contains(&name));
        // The tags of the variants with this member, unless all variants have it or it is the tag itself.
        let tags: Option<Vec<_>> = having.iter().map(|(variant, _)| variant.tag()).collect();
        let is_tag = |tag: &String| tag.split('=').next() == Some(name);
        let condition =
            tags.filter(|tags| having.len() < variants.len() && !tags.iter().any(is_tag));
        let default = members.iter().find_map(|member| member.default());
        let mut need = match (is_required, default) {
            (true, _) => "required".to_owned(),
            (false, Some(default)) => format!("default {default}"),
            (false, None) => "optional".to_owned(),
        };
        if let Some(tags) = &condition {
            let _ = write!(need, " with {}", tags.join(" or "));
        }
        let description = members.iter().find_map(|member| member.description());
        let path = format!("{prefix}{name}");
        fields.push(ArgumentRow {
            is_argument: prefix.is_empty(),
            summary: union(members.iter().map(|member| member.summary())),
            is_required: is_required && condition.is_none(),
            need,
            description: first_paragraph(description).to_owned(),
            path: path.clone(),
        });
        add_fields(fields, &members, &format!("{path}."), depth);
        let items: Vec<_> = members.iter().filter_map(|member| member.items()).collect();
        add_fields(fields, &items, &format!("{path}[]."), depth);
    }
}

/// Joins the summaries of the variants of a member, each one once.
fn union(summaries: impl Iterator<Item = String>) -> String {
    let mut parts: Vec<String> = Vec::new();
    for summary in summaries {
        for part in summary.split('|') {
            if !parts.iter().any(|known| known == part) {
                parts.push(part.to_owned());
            }
        }
    }
    parts.join("|")
}

/// Returns types in upper case, as placeholders. Choices stay as they are typed.
fn placeholder(summary: &str) -> String {
    const KINDS: [&str; 8] = [
        "any", "string", "integer", "number", "boolean", "array", "object", "null",
    ];
    let mut parts = summary.split('|');
    if parts.all(|part| KINDS.contains(&part.trim_end_matches('…'))) {
        summary.to_uppercase()
    } else {
        summary.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn nested_members_are_shown_with_their_paths() {
        let schema = json!({
            "type": "object",
            "properties": {
                "place": {"$ref": "#/$defs/Place", "description": "Where."},
                "guests": {"type": "array", "items": {"type": "object", "properties": {
                    "name": {"type": "string"},
                }, "required": ["name"]}},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["place"],
            "$defs": {"Place": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "The city."},
                    "zip": {"type": "integer"},
                },
                "required": ["city"],
            }},
        });
        let text = usage("book", Schema::new(&schema), Style::default());
        assert_eq!(
            text,
            "usage: book place=OBJECT [guests=OBJECT…] [tags=STRING…]\n\n\
             ARGUMENT       TYPE               DESCRIPTION\n\
             place          object   required  Where.\n\
             place.city     string   required  The city.\n\
             place.zip      integer  optional\n\
             guests         object…  optional\n\
             guests[].name  string   required\n\
             tags           string…  optional\n"
        );
    }

    #[test]
    fn members_of_a_tagged_enum_name_their_variant() {
        let schema = json!({
            "type": "object",
            "properties": {"repeat": {"oneOf": [
                {
                    "type": "object",
                    "properties": {"kind": {"const": "every"}, "days": {"type": "integer"}},
                    "required": ["kind", "days"],
                },
                {
                    "type": "object",
                    "properties": {"kind": {"const": "once"}, "at": {"type": "string"}},
                    "required": ["kind"],
                },
            ]}},
            "required": ["repeat"],
        });
        let text = usage("remind", Schema::new(&schema), Style::default());
        assert_eq!(
            text,
            "usage: remind repeat=OBJECT\n\n\
             ARGUMENT     TYPE                                  DESCRIPTION\n\
             repeat       object      required\n\
             repeat.kind  every|once  required\n\
             repeat.days  integer     required with kind=every\n\
             repeat.at    string      optional with kind=once\n"
        );
    }

    #[test]
    fn recursive_schema_ends() {
        let schema = json!({"type": "object", "properties": {
            "child": {"$ref": "#"}, "children": {"type": "array", "items": {"$ref": "#"}},
        }});
        let text = usage("tree", Schema::new(&schema), Style::default());
        assert!(text.contains("\nchild.children[].child "), "{text}");
        assert!(text.lines().count() < 300, "{text}");
        assert!(result_summary(Schema::new(&schema)).contains("child: {child: "));
    }

    /// Returns an object with this number of members, which all have one schema.
    fn object(members: usize, schema: &Value) -> Value {
        let members = (0..members).map(|number| (format!("m{number}"), schema.clone()));
        let members: serde_json::Map<_, _> = members.collect();
        json!({"type": "object", "properties": members})
    }

    #[test]
    fn at_most_two_hundred_members_are_shown() {
        let text = json!({"type": "string"});
        for (members, shown) in [(MAX_ROWS, MAX_ROWS), (MAX_ROWS + 1, MAX_ROWS)] {
            let schema = object(members, &text);
            assert_eq!(fields(Schema::new(&schema)).len(), shown);
            let summary = result_summary(Schema::new(&schema));
            assert_eq!(summary.matches(": string").count(), shown);
            assert_eq!(summary.ends_with(", …}"), members > shown, "{summary}");
        }
        // Each level would have a hundred times as many members as the one outside of it.
        let recursive = object(100, &json!({"$ref": "#"}));
        assert_eq!(fields(Schema::new(&recursive)).len(), MAX_ROWS);
        let summary = result_summary(Schema::new(&recursive));
        assert_eq!(summary.matches(": ").count(), MAX_ROWS, "{summary}");
    }

    #[test]
    fn members_are_shown_to_a_depth_of_four() {
        let text = json!({"type": "string"});
        let inside = |levels: usize| (0..levels).fold(text.clone(), |schema, _| object(1, &schema));
        let count = |levels| fields(Schema::new(&inside(levels))).len();
        assert_eq!(count(MAX_NESTING), MAX_NESTING);
        assert_eq!(count(MAX_NESTING + 1), MAX_NESTING);
        let summary = |levels| result_summary(Schema::new(&inside(levels)));
        assert!(summary(MAX_NESTING).contains("{m0: string}"));
        assert!(summary(MAX_NESTING + 1).contains("{m0: object}"));
    }

    #[test]
    fn result_shows_nested_members() {
        let schema = json!({"type": "object", "properties": {
            "sum": {"type": "integer"},
            "place": {"type": "object", "properties": {"city": {"type": "string"}}},
            "parts": {"type": "array", "items": {"type": "object", "properties": {
                "id": {"type": ["string", "null"]},
            }}},
        }});
        assert_eq!(
            result_summary(Schema::new(&schema)),
            "{sum: integer, place: {city: string}, parts: {id: string|null}…}"
        );
        let text = json!({"type": "string"});
        assert_eq!(result_summary(Schema::new(&text)), "string");
    }
}
