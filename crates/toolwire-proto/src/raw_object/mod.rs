//! Edits of JSON objects and arrays as text.
//!
//! A relay changes a few members of a message and must not lose the others. [`RawObject`] and [`RawArray`] list the
//! members of one container as slices of its text, in one pass. What is not edited is written byte for byte: the order
//! of members, the text of numbers and strings, and members that no revision defines. A container that is edited is
//! written without white space between its members. The text must be valid JSON, which the types of the parameters
//! ensure. Its names do not repeat, because [`crate::strict_json`] rejects such messages.

mod array;
mod edited_value;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::value::RawValue;
use toolwire_types::RawJson;
use toolwire_types::json::{checked_raw_box, write_text};

pub use self::array::RawArray;
use self::edited_value::EditedValue;
use crate::param_members::RawMember;
use crate::strict_json::walk::{MemberName, object_members};

/// The maximum number of members or elements of a container that is edited. The list of them needs more memory than the
/// shortest members have text.
pub const MAX_MEMBERS: usize = 65_536;

/// A JSON object as the list of its members.
///
/// ```
/// use toolwire_proto::raw_object::RawObject;
/// use toolwire_types::RawJson;
///
/// let params: RawJson = serde_json::from_str(r#"{"name": "a", "_meta": {"k": 1.0}, "x": [ ]}"#).unwrap();
/// let mut object = RawObject::parse(params.as_raw_value()).unwrap();
/// object.set_text("name", "b");
/// object.object_mut("_meta").unwrap().remove("k");
/// assert_eq!(object.finish().get(), r#"{"name":"b","_meta":{},"x":[ ]}"#);
/// ```
#[derive(Debug, Clone)]
pub struct RawObject<'a> {
    /// The text that the object was parsed from. `None` for an object that was created empty.
    source: Option<&'a str>,
    members: Vec<Member<'a>>,
    is_edited: bool,
}

#[derive(Debug, Clone)]
struct Member<'a> {
    name: EditedName<'a>,
    value: EditedValue<'a>,
}

#[derive(Debug, Clone)]
enum EditedName<'a> {
    /// A name in the text, with its escapes.
    Source(MemberName<'a>),
    New(Cow<'a, str>),
}

impl EditedName<'_> {
    fn means(&self, name: &str) -> bool {
        match self {
            Self::Source(token) => token.means(name),
            Self::New(text) => text == name,
        }
    }
}

impl<'a> RawObject<'a> {
    /// Lists the members of an object. Returns `None` if the value is not an object, or if it has more than
    /// [`MAX_MEMBERS`] members.
    #[must_use]
    pub fn parse(json: &'a RawValue) -> Option<Self> {
        Self::of_checked(json.get())
    }

    /// Lists the members of an object that a parser has accepted.
    pub(crate) fn of_checked(text: &'a str) -> Option<Self> {
        let mut members = Vec::new();
        for (name, value) in object_members(text)? {
            if members.len() == MAX_MEMBERS {
                return None;
            }
            members.push(Member {
                name: EditedName::Source(name),
                value: EditedValue::Source(value),
            });
        }
        Some(Self {
            source: Some(text),
            members,
            is_edited: false,
        })
    }

    /// Creates an object without members.
    #[must_use]
    pub const fn empty() -> Self {
        Self {
            source: None,
            members: Vec::new(),
            is_edited: true,
        }
    }

    /// Returns the number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns `true` if there are no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns `true` if the object or a value inside it was edited.
    #[must_use]
    pub fn is_edited(&self) -> bool {
        self.is_edited || self.members.iter().any(|member| member.value.is_edited())
    }

    /// Returns `true` if there is a member of this name, even if its value is `null`.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    /// Returns the value of a member. Returns `None` for a value inside which something was edited.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<RawMember<'_>> {
        self.members[self.position(name)?].value.text()
    }

    /// Returns the value of a member that is a string, with its escapes resolved.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        self.get(name)?.text()
    }

    /// Returns the text of a member as it will be written, with the edits inside it.
    #[must_use]
    pub fn written(&self, name: &str) -> Option<Cow<'_, str>> {
        Some(self.members[self.position(name)?].value.written())
    }

    /// Returns the names with their values, in order. A value inside which something was edited is left out.
    pub fn iter(&self) -> impl Iterator<Item = (Cow<'_, str>, RawMember<'_>)> {
        self.members.iter().filter_map(|member| {
            let name = match &member.name {
                EditedName::Source(token) => token.meaning(),
                EditedName::New(text) => Cow::Borrowed(text.as_ref()),
            };
            Some((name, member.value.text()?))
        })
    }

    /// Sets a member. An existing one stays at its position, a new one is the last.
    pub fn set(&mut self, name: impl Into<Cow<'a, str>>, value: RawJson) {
        self.put(name.into(), EditedValue::New(value));
    }

    /// Sets a member to a string.
    pub fn set_text(&mut self, name: impl Into<Cow<'a, str>>, text: &str) {
        self.set(name, json_string(text));
    }

    /// Sets a member and makes it the first.
    pub fn set_first(&mut self, name: impl Into<Cow<'a, str>>, value: RawJson) {
        let name = name.into();
        self.remove(&name);
        self.is_edited = true;
        let member = Member {
            name: EditedName::New(name),
            value: EditedValue::New(value),
        };
        self.members.insert(0, member);
    }

    /// Removes a member. Returns `true` if it was present.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.members.len();
        self.members.retain(|member| !member.name.means(name));
        let is_removed = self.members.len() != before;
        self.is_edited |= is_removed;
        is_removed
    }

    /// Removes the members whose names `keep` rejects.
    pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        let before = self.members.len();
        self.members.retain(|member| match &member.name {
            EditedName::Source(token) => keep(&token.meaning()),
            EditedName::New(text) => keep(text),
        });
        self.is_edited |= self.members.len() != before;
    }

    /// Returns the object of a member, to be edited. Returns `None` if there is no such member, or if its value is not
    /// an object that [`parse`](Self::parse) accepts. The same holds for a value of [`set`](Self::set).
    pub fn object_mut(&mut self, name: &str) -> Option<&mut RawObject<'a>> {
        let position = self.position(name)?;
        self.members[position].value.object_mut()
    }

    /// Returns the array of a member, to be edited. Returns `None` if there is no such member, or if its value is not
    /// an array that [`RawArray::parse`] accepts.
    pub fn array_mut(&mut self, name: &str) -> Option<&mut RawArray<'a>> {
        let position = self.position(name)?;
        self.members[position].value.array_mut()
    }

    /// Returns the object at the end of a path of members, to be edited.
    pub fn object_at_mut(&mut self, path: &[&str]) -> Option<&mut RawObject<'a>> {
        path.iter()
            .try_fold(self, |object, name| object.object_mut(name))
    }

    /// Returns the object of a member, to be edited. A member without an object that [`object_mut`](Self::object_mut)
    /// returns becomes an empty object.
    pub fn object_or_empty_mut(&mut self, name: &'static str) -> &mut RawObject<'a> {
        let position = match self.position(name) {
            Some(position) => position,
            None => {
                self.put(
                    name.into(),
                    EditedValue::Object(Box::new(RawObject::empty())),
                );
                self.members.len() - 1
            }
        };
        let value = &mut self.members[position].value;
        if value.object_mut().is_none() {
            self.is_edited = true;
            *value = EditedValue::Object(Box::new(RawObject::empty()));
        }
        value.object_mut().expect("the value is an object")
    }

    /// Appends the object to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        if let Some(source) = self.source
            && !self.is_edited()
        {
            out.extend_from_slice(source.as_bytes());
            return;
        }
        out.push(b'{');
        for (index, member) in self.members.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            match &member.name {
                EditedName::Source(token) => {
                    out.push(b'"');
                    out.extend_from_slice(token.raw().as_bytes());
                    out.push(b'"');
                }
                EditedName::New(text) => write_text(out, text),
            }
            out.push(b':');
            member.value.write(out);
        }
        out.push(b'}');
    }

    /// Returns the object as one value.
    #[must_use]
    pub fn finish(&self) -> RawJson {
        let mut out = Vec::with_capacity(self.source.map_or(0, str::len) + 128);
        self.write(&mut out);
        raw_json(out)
    }

    /// Returns the object as one value if it was edited.
    #[must_use]
    pub fn finish_if_edited(&self) -> Option<RawJson> {
        self.is_edited().then(|| self.finish())
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.members
            .iter()
            .position(|member| member.name.means(name))
    }

    fn put(&mut self, name: Cow<'a, str>, value: EditedValue<'a>) {
        self.is_edited = true;
        match self.position(&name) {
            Some(position) => self.members[position].value = value,
            None => self.members.push(Member {
                name: EditedName::New(name),
                value,
            }),
        }
    }
}

/// Returns a string as JSON.
#[must_use]
pub fn json_string(text: &str) -> RawJson {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_text(&mut out, text);
    raw_json(out)
}

/// Returns written JSON as a value. Valid values, joined by the writers of this module, are valid JSON.
fn raw_json(out: Vec<u8>) -> RawJson {
    let text = String::from_utf8(out).expect("only complete texts are written");
    let text =
        if text.starts_with([' ', '\t', '\n', '\r']) || text.ends_with([' ', '\t', '\n', '\r']) {
            text.trim().to_owned()
        } else {
            text
        };
    checked_raw_box(text).into()
}
