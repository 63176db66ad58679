//! JSON as it is written: the order of members, and the text of numbers and of escapes.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON value as it is written. White space between tokens does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Written {
    Object(Vec<(String, Written)>),
    Array(Vec<Written>),
    /// A text with its quotation marks and escapes, a number or a literal. Also what is not JSON.
    Scalar(String),
}

impl Written {
    /// Reads a text.
    pub(crate) fn parse(text: &str) -> Self {
        let text = text.trim();
        if text.starts_with('{')
            && let Ok(Members(members)) = serde_json::from_str(text)
        {
            let members = members.into_iter();
            let members = members.map(|(name, value)| (name, Self::parse(value.get())));
            return Self::Object(members.collect());
        }
        if text.starts_with('[')
            && let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(text)
        {
            let elements = elements.into_iter();
            return Self::Array(elements.map(|element| Self::parse(element.get())).collect());
        }
        Self::Scalar(text.to_owned())
    }

    /// Returns the member of an object.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else {
            return None;
        };
        let found = members.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value)
    }

    /// Removes a member of an object.
    pub(crate) fn remove(&mut self, name: &str) {
        if let Self::Object(members) = self {
            members.retain(|(own, _)| own != name);
        }
    }

    /// Returns the content of a text.
    pub(crate) fn text(&self) -> Option<String> {
        match self {
            Self::Scalar(text) => serde_json::from_str(text).ok(),
            Self::Object(_) | Self::Array(_) => None,
        }
    }

    /// Returns the names of members that another object has too, in order.
    pub(crate) fn names_in(&self, other: &Self) -> Vec<&str> {
        let Self::Object(members) = self else {
            return Vec::new();
        };
        let names = members.iter().map(|(name, _)| name.as_str());
        names.filter(|name| other.member(name).is_some()).collect()
    }
}

/// The members of an object in order.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}
