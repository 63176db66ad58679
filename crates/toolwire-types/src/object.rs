//! Reading objects by hand: members by name, and a map for the others.
//!
//! A derived `Deserialize` with `#[serde(flatten)]` keeps every member it does not know aside in a form of its own before it
//! reads the map from that, one without reads arrays as well, and both are several times as large. Types that every server
//! reads do without.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

/// Implements `Deserialize` for a struct. It starts from the value given; members marked `required` must be there, and no
/// member may come twice. Others go into the map `extra`, or are `ignored`.
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
                            match seen.find(NAMES, &name)? {
                                $(Some($name) => object.$field = members.next_value()?,)+
                                _ => crate::object::$others!(object, members, name),
                            }
                        }
                        seen.check(NAMES, REQUIRED)?;
                        Ok(object)
                    }
                }

                deserializer.deserialize_map(Object)
            }
        }
    };
}

/// A member that must be there.
macro_rules! required {
    ($name:literal) => {
        $name
    };
}

/// Keeps a member that the type does not name.
macro_rules! kept {
    ($object:ident, $members:ident, $name:ident) => {{
        let value = $members.next_value()?;
        $object.extra.insert($name.into_string(), value);
    }};
}

/// Passes over a member that the type does not name.
macro_rules! ignored {
    ($object:ident, $members:ident, $name:ident) => {
        drop($members.next_value::<serde::de::IgnoredAny>()?)
    };
}

pub(crate) use {ignored, kept, object, required};

/// The name of a member, borrowed where it can be.
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

/// Which of the known members were there, by their place among the names.
#[derive(Debug, Default)]
pub(crate) struct Seen(u32);

impl Seen {
    /// The known name that this is, if any.
    ///
    /// # Errors
    /// When it was there before.
    pub(crate) fn find<E: Error>(
        &mut self,
        names: &[&'static str],
        name: &Name<'_>,
    ) -> Result<Option<&'static str>, E> {
        let Some(at) = names.iter().position(|known| *known == name.0) else {
            return Ok(None);
        };
        if self.0 & (1 << at) != 0 {
            return Err(E::duplicate_field(names[at]));
        }
        self.0 |= 1 << at;
        Ok(Some(names[at]))
    }

    /// # Errors
    /// When a required one is missing.
    pub(crate) fn check<E: Error>(
        &self,
        names: &[&'static str],
        required: &[&'static str],
    ) -> Result<(), E> {
        let is_there = |name: &str| {
            let at = names.iter().position(|known| *known == name);
            at.is_some_and(|at| self.0 & (1 << at) != 0)
        };
        match required.iter().find(|name| !is_there(name)) {
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
        others kept
    );

    fn read(text: &str) -> Result<Person, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    fn check_error(text: &str, expected: &str) {
        let error = read(text).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn members_are_read_and_others_kept_in_order() {
        let person = read(r#"{"z":1,"name":"A\u0042","theAge":7,"a":{"b":[null]}}"#).unwrap();
        assert_eq!((person.name.as_str(), person.age), ("AB", Some(7)));
        assert_eq!(
            Value::Object(person.extra).to_string(),
            r#"{"z":1,"a":{"b":[null]}}"#
        );
    }

    #[test]
    fn what_is_missing_or_comes_twice_is_named() {
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
    fn trees_and_untagged_enums_read_it_too() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(untagged)]
        enum Either {
            Number(#[expect(dead_code, reason = "only here to be told apart")] u8),
            Person(Person),
        }

        let tree = json!({"name": "A", "more": true});
        let person: Person = serde_json::from_value(tree.clone()).unwrap();
        let Either::Person(again) = serde_json::from_value(tree).unwrap() else {
            panic!("a person is no number")
        };
        assert_eq!(person, again);
        assert_eq!(person.extra["more"], json!(true));
    }
}
