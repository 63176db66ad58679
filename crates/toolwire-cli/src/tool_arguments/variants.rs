//! Collects the object schemas that apply to a value: the schema itself and its alternatives.
//!
//! In the schema of a tagged enum every variant is an alternative with a constant member, the tag. A value of the tag
//! selects the variant, and thereby the types of the other members.

use serde_json::Value;

use crate::tool_arguments::parse::{ArgumentValue, Assignment};
use crate::tool_arguments::schema::{MAX_DEPTH, MAX_VISITS, Schema, as_typed};

impl<'a> Schema<'a> {
    /// Returns the object schemas of this schema and of its alternatives.
    pub(crate) fn variants(self) -> Vec<Self> {
        self.variants_except(&|_| false)
    }

    /// As [`Self::variants`], without those for which `is_excluded` returns `true`, and without their alternatives.
    fn variants_except(self, is_excluded: &dyn Fn(Self) -> bool) -> Vec<Self> {
        let mut visits = MAX_VISITS;
        let mut variants = Vec::new();
        self.collect_variants(MAX_DEPTH, &mut visits, is_excluded, &mut variants);
        variants
    }

    fn collect_variants(
        self,
        depth: usize,
        visits: &mut usize,
        is_excluded: &dyn Fn(Self) -> bool,
        variants: &mut Vec<Self>,
    ) {
        let (Some(left), Some(depth)) = (visits.checked_sub(1), depth.checked_sub(1)) else {
            return;
        };
        *visits = left;
        let here = self.resolved();
        if here.has_members() {
            if variants.iter().any(|known| known.is_same(here)) || is_excluded(here) {
                return;
            }
            variants.push(here);
        }
        for alternative in self.alternatives() {
            alternative.collect_variants(depth, visits, is_excluded, variants);
        }
    }

    /// Returns the text of the tag, such as `kind=every`, if a member of this variant is constant.
    pub(crate) fn tag(self) -> Option<String> {
        let mut members = self.properties().into_iter();
        members.find_map(|(name, member)| {
            let constant = member.constant()?;
            Some(format!("{name}={}", as_typed(constant)))
        })
    }
}

/// Returns the members of this name in the variants. Equal schemas are returned once.
pub(super) fn members<'a>(variants: &[Schema<'a>], name: &str) -> Vec<Schema<'a>> {
    let mut members: Vec<Schema<'a>> = Vec::new();
    for member in variants.iter().filter_map(|variant| variant.member(name)) {
        if !members.iter().any(|known| known.is_equal(member)) {
            members.push(member);
        }
    }
    members
}

/// Returns the variants that fit the other arguments. `prefix` is the path of the object, with a dot at its end.
pub(super) fn fitting_variants<'a>(
    schemas: &[Schema<'a>],
    prefix: &str,
    given: &[Assignment],
) -> Vec<Schema<'a>> {
    let is_excluded = |variant: Schema<'a>| {
        given.iter().any(|assignment| {
            let name = assignment.key.strip_prefix(prefix);
            let member = name.and_then(|name| variant.member(name));
            member.is_some_and(|member| !fits(member, &assignment.value))
        })
    };
    let schemas = schemas.iter();
    schemas
        .flat_map(|schema| schema.variants_except(&is_excluded))
        .collect()
}

/// Returns `true` unless the schema lists the accepted values and this value is not one of them.
fn fits(schema: Schema<'_>, value: &ArgumentValue) -> bool {
    let choices = schema.choices();
    let is_value = |choice: &&Value| match value {
        ArgumentValue::Text(text) => as_typed(choice) == *text,
        ArgumentValue::Json(value) => *choice == value,
    };
    choices.is_empty() || choices.iter().any(is_value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn repeat() -> Value {
        json!({"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "every"}, "days": {"type": "integer"}}},
            {"$ref": "#/$defs/Once"},
        ], "$defs": {"Once": {
            "type": "object", "properties": {"kind": {"const": "once"}, "at": {"type": "string"}},
        }}})
    }

    #[test]
    fn every_alternative_is_a_variant() {
        let schema = repeat();
        let variants = Schema::new(&schema).variants();
        let tags: Vec<_> = variants
            .iter()
            .filter_map(|variant| variant.tag())
            .collect();
        assert_eq!(tags, ["kind=every", "kind=once"]);
        assert_eq!(members(&variants, "kind").len(), 2);
        assert_eq!(members(&variants, "at").len(), 1);
        assert_eq!(members(&variants, "nothing").len(), 0);
    }

    #[test]
    fn tag_selects_the_variant() {
        fn check(word: &str, expected: &[&str]) {
            let schema = repeat();
            let given = [Assignment::parse(word).expect("a valid word")];
            let fitting = fitting_variants(&[Schema::new(&schema)], "repeat.", &given);
            let tags: Vec<_> = fitting.iter().filter_map(|variant| variant.tag()).collect();
            assert_eq!(tags, expected, "{word}");
        }
        check("repeat.kind=once", &["kind=once"]);
        check("repeat.kind:=\"every\"", &["kind=every"]);
        check("repeat.days=3", &["kind=every", "kind=once"]);
        check("kind=once", &["kind=every", "kind=once"]);
        check("repeat.kind=never", &[]);
    }

    #[test]
    fn recursive_variants_end() {
        let schema =
            json!({"properties": {"a": {"$ref": "#"}}, "anyOf": [{"$ref": "#"}, {"$ref": "#"}]});
        assert_eq!(Schema::new(&schema).variants().len(), 1);
        let schema = json!({"anyOf": [{"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, {"$ref": "#"}]});
        assert_eq!(Schema::new(&schema).variants().len(), 0);
    }
}
