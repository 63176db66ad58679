//! Reads from a JSON Schema what the command line needs to know about values.
//!
//! It does not validate: the server does. It decides how a text is converted, and describes the expected value.

use serde_json::Value;

/// The number of `$ref`s and alternatives that are followed, so that a recursive schema ends.
pub(super) const MAX_DEPTH: usize = 16;

/// The number of subschemas that one query visits. Alternatives may refer to each other, so their number can grow with
/// every level.
pub(super) const MAX_VISITS: usize = 1000;

/// A subschema of a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schema<'a> {
    root: &'a Value,
    node: &'a Value,
}

/// The JSON types that a schema accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Kinds {
    pub(crate) string: bool,
    pub(crate) integer: bool,
    pub(crate) number: bool,
    pub(crate) boolean: bool,
    pub(crate) array: bool,
    pub(crate) object: bool,
    pub(crate) null: bool,
}

impl Kinds {
    const ANY: Self = Self {
        string: true,
        integer: true,
        number: true,
        boolean: true,
        array: true,
        object: true,
        null: true,
    };

    fn add(&mut self, name: &str) {
        match name {
            "string" => self.string = true,
            "integer" => self.integer = true,
            "number" => self.number = true,
            "boolean" => self.boolean = true,
            "array" => self.array = true,
            "object" => self.object = true,
            "null" => self.null = true,
            _ => *self = Self::ANY,
        }
    }

    fn add_value(&mut self, value: &Value) {
        match value {
            Value::String(_) => self.string = true,
            Value::Number(number) if number.is_f64() => self.number = true,
            Value::Number(_) => self.integer = true,
            Value::Bool(_) => self.boolean = true,
            Value::Array(_) => self.array = true,
            Value::Object(_) => self.object = true,
            Value::Null => self.null = true,
        }
    }

    fn union(&mut self, other: Self) {
        self.string |= other.string;
        self.integer |= other.integer;
        self.number |= other.number;
        self.boolean |= other.boolean;
        self.array |= other.array;
        self.object |= other.object;
        self.null |= other.null;
    }

    pub(crate) fn is_any(self) -> bool {
        self == Self::ANY
    }

    /// Returns the type names of JSON Schema.
    pub(crate) fn names(self) -> Vec<&'static str> {
        let named = [
            (self.string, "string"),
            (self.integer, "integer"),
            (self.number, "number"),
            (self.boolean, "boolean"),
            (self.array, "array"),
            (self.object, "object"),
            (self.null, "null"),
        ];
        let present = named.iter().filter(|(present, _)| *present);
        present.map(|(_, name)| *name).collect()
    }
}

impl<'a> Schema<'a> {
    pub(crate) fn new(root: &'a Value) -> Self {
        Self { root, node: root }
    }

    fn at(self, node: &'a Value) -> Self {
        Self { node, ..self }
    }

    /// Follows `$ref` within the document.
    pub(super) fn resolved(self) -> Self {
        let mut here = self;
        for _ in 0..MAX_DEPTH {
            let Some(target) = here.node.get("$ref").and_then(Value::as_str) else {
                break;
            };
            let Some(found) = target
                .strip_prefix('#')
                .and_then(|path| self.root.pointer(path))
            else {
                break;
            };
            here = here.at(found);
        }
        here
    }

    pub(super) fn alternatives(self) -> impl Iterator<Item = Schema<'a>> {
        let node = self.resolved().node;
        ["anyOf", "oneOf", "allOf"]
            .into_iter()
            .filter_map(|keyword| node.get(keyword)?.as_array())
            .flatten()
            .map(move |node| self.at(node))
    }

    pub(crate) fn kinds(self) -> Kinds {
        let mut visits = MAX_VISITS;
        self.kinds_within(MAX_DEPTH, &mut visits)
    }

    fn kinds_within(self, depth: usize, visits: &mut usize) -> Kinds {
        let Some(left) = visits.checked_sub(1) else {
            return Kinds::ANY;
        };
        *visits = left;
        let node = self.resolved().node;
        let mut kinds = Kinds::default();
        match node.get("type") {
            Some(Value::String(name)) => kinds.add(name),
            Some(Value::Array(names)) => names
                .iter()
                .filter_map(Value::as_str)
                .for_each(|name| kinds.add(name)),
            _ => {}
        }
        if kinds != Kinds::default() {
            return kinds;
        }
        if let Some(value) = node.get("const") {
            kinds.add_value(value);
            return kinds;
        }
        if let Some(values) = node.get("enum").and_then(Value::as_array) {
            values.iter().for_each(|value| kinds.add_value(value));
            return kinds;
        }
        if let Some(depth) = depth.checked_sub(1) {
            for one in self.alternatives() {
                let taken = one.kinds_within(depth, visits);
                // An alternative without constraints, such as a description in `allOf`, does not accept every type.
                if !taken.is_any() {
                    kinds.union(taken);
                }
            }
        }
        if kinds != Kinds::default() {
            return kinds;
        }
        if node.get("properties").is_some() {
            kinds.object = true;
        } else if node.get("items").is_some() {
            kinds.array = true;
        } else {
            kinds = Kinds::ANY;
        }
        kinds
    }

    /// Returns the schema of array elements.
    pub(crate) fn items(self) -> Option<Self> {
        let mut visits = MAX_VISITS;
        self.find(MAX_DEPTH, &mut visits, &|schema| schema.node.get("items"))
    }

    fn find(
        self,
        depth: usize,
        visits: &mut usize,
        here: &dyn Fn(Self) -> Option<&'a Value>,
    ) -> Option<Self> {
        *visits = visits.checked_sub(1)?;
        if let Some(node) = here(self.resolved()) {
            return Some(self.at(node));
        }
        let depth = depth.checked_sub(1)?;
        self.alternatives()
            .find_map(|one| one.find(depth, visits, here))
    }

    /// Returns the members of an object, in the order of the schema.
    pub(crate) fn properties(self) -> Vec<(&'a str, Self)> {
        let members = self.resolved().node.get("properties");
        let members = members.and_then(Value::as_object).into_iter().flatten();
        members
            .map(|(name, node)| (name.as_str(), self.at(node)))
            .collect()
    }

    /// Returns the member of this object schema, not of its alternatives.
    pub(crate) fn member(self, name: &str) -> Option<Self> {
        let member = self.resolved().node.get("properties")?.get(name)?;
        Some(self.at(member))
    }

    /// Returns `true` if the schema itself describes the members of an object.
    pub(super) fn has_members(self) -> bool {
        ["properties", "additionalProperties"]
            .iter()
            .any(|keyword| self.node.get(keyword).is_some())
    }

    /// Returns the only accepted value, if there is one.
    pub(super) fn constant(self) -> Option<&'a Value> {
        let node = self.resolved().node;
        let only = |values: &'a Value| match values.as_array()?.as_slice() {
            [value] => Some(value),
            _ => None,
        };
        node.get("const")
            .or_else(|| node.get("enum").and_then(only))
    }

    /// Returns `true` if both are the same part of the document.
    pub(super) fn is_same(self, other: Self) -> bool {
        std::ptr::eq(self.node, other.node)
    }

    /// Returns `true` if both schemas have the same text.
    pub(super) fn is_equal(self, other: Self) -> bool {
        self.node == other.node
    }

    pub(crate) fn required(self) -> Vec<&'a str> {
        let names = self.resolved().node.get("required");
        let names = names.and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).collect()
    }

    /// Returns `true` if members without a schema are rejected.
    pub(crate) fn is_closed(self) -> bool {
        self.resolved().node.get("additionalProperties") == Some(&Value::Bool(false))
    }

    /// Returns `true` if the schema states that there may be members without a schema.
    pub(super) fn is_open(self) -> bool {
        let node = self.resolved().node;
        let is_open = |value: &Value| *value != Value::Bool(false);
        node.get("additionalProperties").is_some_and(is_open)
            || node.get("patternProperties").is_some()
    }

    pub(crate) fn description(self) -> Option<&'a str> {
        let own = self.node.get("description");
        let own = own.or_else(|| self.resolved().node.get("description"));
        own.and_then(Value::as_str)
    }

    pub(crate) fn default(self) -> Option<&'a Value> {
        self.node.get("default")
    }

    /// Returns the accepted values if the schema lists them and they are few.
    pub(crate) fn choices(self) -> Vec<&'a Value> {
        let mut visits = MAX_VISITS;
        self.choices_within(MAX_DEPTH, &mut visits)
    }

    fn choices_within(self, depth: usize, visits: &mut usize) -> Vec<&'a Value> {
        let Some(left) = visits.checked_sub(1) else {
            return Vec::new();
        };
        *visits = left;
        let node = self.resolved().node;
        if let Some(values) = node.get("enum").and_then(Value::as_array) {
            return values.iter().collect();
        }
        if let Some(value) = node.get("const") {
            return vec![value];
        }
        let Some(depth) = depth.checked_sub(1) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for one in self.alternatives() {
            let choices = one.choices_within(depth, visits);
            let only_null = one.kinds_within(depth, visits).names() == ["null"];
            if choices.is_empty() && !only_null {
                return Vec::new();
            }
            if all.len() + choices.len() > MAX_VISITS {
                return Vec::new();
            }
            all.extend(choices);
        }
        all
    }

    /// Returns a short description of the accepted values.
    pub(crate) fn summary(self) -> String {
        self.summary_within(MAX_DEPTH)
    }

    fn summary_within(self, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else {
            return "any".to_owned();
        };
        let choices = self.choices();
        if !choices.is_empty() {
            let words: Vec<_> = choices.iter().map(|choice| as_typed(choice)).collect();
            return words.join("|");
        }
        let kinds = self.kinds();
        if kinds.is_any() {
            return "any".to_owned();
        }
        let names = kinds
            .names()
            .into_iter()
            .map(|name| match (name, self.items()) {
                ("array", Some(items)) => format!("{}…", items.summary_within(depth)),
                _ => name.to_owned(),
            });
        names.collect::<Vec<_>>().join("|")
    }

    /// Returns an example of the argument on the command line.
    pub(crate) fn example(self, key: &str) -> String {
        self.example_within(key, MAX_DEPTH)
    }

    fn example_within(self, key: &str, depth: usize) -> String {
        if let Some(choice) = self.choices().first() {
            return format!("{key}={}", as_typed(choice));
        }
        let kinds = self.kinds();
        match () {
            () if kinds.string => format!("{key}=text"),
            () if kinds.integer => format!("{key}=1"),
            () if kinds.number => format!("{key}=1.5"),
            () if kinds.boolean => format!("{key}=true"),
            () if kinds.array => match self.items() {
                Some(items) if !items.kinds().object && !items.kinds().array => {
                    let one = items.example(key);
                    format!("{one} {one}")
                }
                _ => format!("{key}:='[…]'"),
            },
            () if kinds.object => {
                let variants = self.variants().into_iter();
                match variants.flat_map(Self::properties).next() {
                    Some((name, member)) if depth > 0 => {
                        member.example_within(&format!("{key}.{name}"), depth - 1)
                    }
                    _ => format!("{key}:='{{…}}'"),
                }
            }
            () => format!("{key}:=null"),
        }
    }
}

/// Returns a value as the user would type it.
pub(crate) fn as_typed(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schemas_are_summarized() {
        fn check(schema: Value, expected: &str) {
            assert_eq!(Schema::new(&schema).summary(), expected, "{schema}");
        }
        check(json!({"type": "integer"}), "integer");
        check(json!({"type": ["string", "null"]}), "string|null");
        check(json!({"enum": ["a", "b"]}), "a|b");
        check(json!({"oneOf": [{"const": "a"}, {"const": "b"}]}), "a|b");
        check(
            json!({"anyOf": [{"$ref": "#/$defs/L"}, {"type": "null"}], "$defs": {"L": {"enum": ["x"]}}}),
            "x",
        );
        check(
            json!({"type": "array", "items": {"type": "integer"}}),
            "integer…",
        );
        check(json!({"type": "array"}), "array");
        check(json!({"properties": {}}), "object");
        check(
            json!({"allOf": [{"description": "a"}, {"type": "number"}]}),
            "number",
        );
        check(json!({}), "any");
        check(json!(true), "any");
    }

    #[test]
    fn alternatives_and_references_are_followed_to_a_depth_of_sixteen() {
        let inside = |levels: usize| {
            let innermost = json!({"type": "string"});
            (0..levels).fold(innermost, |schema, _| json!({"anyOf": [schema]}))
        };
        assert_eq!(Schema::new(&inside(MAX_DEPTH)).summary(), "string");
        assert_eq!(Schema::new(&inside(MAX_DEPTH + 1)).summary(), "any");
        let references = |count: usize| {
            let mut schema = json!({"$ref": "#/$defs/1", "$defs": {}});
            for number in 1..count {
                let next = format!("#/$defs/{}", number + 1);
                schema["$defs"][number.to_string()] = json!({"$ref": next});
            }
            schema["$defs"][count.to_string()] = json!({"type": "string"});
            schema
        };
        assert_eq!(Schema::new(&references(MAX_DEPTH)).summary(), "string");
        assert_eq!(Schema::new(&references(MAX_DEPTH + 1)).summary(), "any");
    }

    #[test]
    fn one_query_visits_at_most_a_thousand_schemas() {
        // The last alternative is the only integer.
        let alternatives = |count: usize| {
            let mut schemas = vec![json!({"type": "string"}); count - 1];
            schemas.push(json!({"type": "integer"}));
            json!({"anyOf": schemas})
        };
        let has_integer = |count: usize| Schema::new(&alternatives(count)).kinds().integer;
        assert!(has_integer(MAX_VISITS - 1));
        assert!(!has_integer(MAX_VISITS));
    }

    #[test]
    fn recursive_schema_ends() {
        // Each level doubles the alternatives, and arrays and objects contain themselves.
        let twice = json!([{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}]);
        let doubling = json!({"anyOf": twice});
        Schema::new(&doubling).summary();
        Schema::new(&doubling).variants();
        let array = json!({"type": "array", "items": {"$ref": "#"}});
        assert!(Schema::new(&array).summary().contains("any"));
        let object = json!({"type": "object", "properties": {"a": {"$ref": "#"}}});
        assert!(Schema::new(&object).example("x").starts_with("x.a.a."));
        let schema = json!({"$ref": "#"});
        assert!(Schema::new(&schema).kinds().is_any());
        let schema = json!({"anyOf": [{"$ref": "#"}]});
        assert_eq!(Schema::new(&schema).summary(), "any");
        assert!(Schema::new(&schema).variants().is_empty());
    }

    #[test]
    fn examples_are_valid_arguments() {
        fn check(schema: Value, expected: &str) {
            assert_eq!(Schema::new(&schema).example("x"), expected, "{schema}");
        }
        check(json!({"type": "integer"}), "x=1");
        check(json!({"enum": ["red"]}), "x=red");
        check(
            json!({"type": "array", "items": {"type": "boolean"}}),
            "x=true x=true",
        );
        check(json!({"type": "array"}), "x:='[…]'");
        check(
            json!({"type": "object", "properties": {"a": {"type": "number"}}}),
            "x.a=1.5",
        );
    }
}
