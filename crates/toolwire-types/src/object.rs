//! A macro that implements `Deserialize` for objects, with a map for unknown members.
//!
//! The derived `Deserialize` has disadvantages here. With `#[serde(flatten)]` it buffers every unknown member before it
//! parses the map, and without `flatten` it accepts arrays too. Both generate several times as much code. The types
//! that every server parses therefore use this macro.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

/// Implements `Deserialize` for a struct.
///
/// The initial value is given by an expression. Members marked `required` must be present, and duplicate members are
/// rejected. Unknown members are `stored` in the map `extra`, or `ignored`.
macro_rules! object {
    ($type:ident = $start:expr; $($name:literal => $field:ident $($required:ident)?),+; others $others:ident) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Object;

                impl<'de> serde::de::Visitor<'de> for Object {
                    type Value = $type;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("struct ", stringify!($type)))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut members: A,
                    ) -> Result<$type, A::Error> {
                        const NAMES: &[&str] = &[$($name),+];
                        const REQUIRED: &[&str] = &[$($(crate::object::$required!($name),)?)+];
                        let mut object: $type = $start;
                        let mut seen = crate::object::Seen::default();
                        while let Some(name) = members.next_key::<crate::object::Name<'de>>()? {
                            match seen.record(NAMES, &name)? {
                                $(Some($name) => object.$field = members.next_value()?,)+
                                _ => crate::object::$others!(object, members, name),
                            }
                        }
                        seen.check_required(NAMES, REQUIRED)?;
                        Ok(object)
                    }
                }

                deserializer.deserialize_map(Object)
            }
        }
    };
}

/// Returns the name of a required member.
macro_rules! required {
    ($name:literal) => {
        $name
    };
}

/// Stores an unknown member in the map `extra`.
macro_rules! stored {
    ($object:ident, $members:ident, $name:ident) => {{
        let value = $members.next_value()?;
        $object.extra.insert($name.into_string(), value);
    }};
}

/// Skips an unknown member.
macro_rules! ignored {
    ($object:ident, $members:ident, $name:ident) => {
        drop($members.next_value::<serde::de::IgnoredAny>()?)
    };
}

pub(crate) use {ignored, object, required, stored};

/// The name of a member, borrowed from the input if possible.
pub(crate) struct Name<'de>(Cow<'de, str>);

impl Name<'_> {
    pub(crate) fn into_string(self) -> String {
        self.0.into_owned()
    }
}

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a member")
            }

            fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Name<'de>, E> {
                self.visit_string(name.to_owned())
            }

            fn visit_string<E: Error>(self, name: String) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name)))
            }
        }

        deserializer.deserialize_str(Text)
    }
}

/// The known members that are already parsed: a bit set over the index of the name.
#[derive(Debug, Default)]
pub(crate) struct Seen(u32);

impl Seen {
    /// Records a member. Returns its known name, or `None` if the name is unknown.
    ///
    /// # Errors
    /// Returns an error if the member is a duplicate.
    pub(crate) fn record<E: Error>(
        &mut self,
        names: &[&'static str],
        name: &Name<'_>,
    ) -> Result<Option<&'static str>, E> {
        let Some(index) = names.iter().position(|known| *known == name.0) else {
            return Ok(None);
        };
        if self.0 & (1 << index) != 0 {
            return Err(E::duplicate_field(names[index]));
        }
        self.0 |= 1 << index;
        Ok(Some(names[index]))
    }

    /// Checks that all required members are present.
    ///
    /// # Errors
    /// Returns an error if a required member is missing.
    pub(crate) fn check_required<E: Error>(
        &self,
        names: &[&'static str],
        required: &[&'static str],
    ) -> Result<(), E> {
        let is_present = |name: &str| {
            let index = names.iter().position(|known| *known == name);
            index.is_some_and(|index| self.0 & (1 << index) != 0)
        };
        match required.iter().find(|name| !is_present(name)) {
            Some(missing) => Err(E::missing_field(missing)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::result::Extra;

    #[derive(Debug, PartialEq)]
    struct Person {
        name: String,
        age: Option<u8>,
        extra: Extra,
    }

    object!(Person = Person { name: String::new(), age: None, extra: Extra::new() };
        "name" => name required,
        "theAge" => age;
        others stored
    );

    fn read(text: &str) -> Result<Person, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    fn check_error(text: &str, expected: &str) {
        let error = read(text).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn unknown_members_are_stored_in_order() {
        let person = read(r#"{"z":1,"name":"A\u0042","theAge":7,"a":{"b":[null]}}"#).unwrap();
        assert_eq!((person.name.as_str(), person.age), ("AB", Some(7)));
        assert_eq!(
            Value::Object(person.extra).to_string(),
            r#"{"z":1,"a":{"b":[null]}}"#
        );
    }

    #[test]
    fn missing_and_duplicate_members_are_rejected() {
        check_error("{}", "missing field `name`");
        check_error(r#"{"theAge":null}"#, "missing field `name`");
        check_error(r#"{"name":"a","name":"b"}"#, "duplicate field `name`");
        check_error(
            r#"{"name":"a","theAge":1,"theAge":1}"#,
            "duplicate field `theAge`",
        );
        check_error("[]", "invalid type: sequence, expected struct Person");
        check_error(
            r#"{"name":1}"#,
            "invalid type: integer `1`, expected a string",
        );
    }

    #[test]
    fn object_parses_from_a_tree_and_in_an_untagged_enum() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(#[expect(dead_code, reason = "the test only distinguishes the variants")] u8),
            Person(Person),
        }

        let tree = json!({"name": "A", "more": true});
        let person: Person = serde_json::from_value(tree.clone()).unwrap();
        let Either::Person(again) = serde_json::from_value(tree).unwrap() else {
            panic!("expected a person, got a number")
        };
        assert_eq!(person, again);
        assert_eq!(person.extra["more"], json!(true));
    }
}
