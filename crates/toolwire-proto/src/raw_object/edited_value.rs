//! A value inside an edited container.

use std::borrow::Cow;

use toolwire_types::RawJson;

use crate::param_members::RawMember;
use crate::raw_object::{RawArray, RawObject, raw_json};

#[derive(Debug, Clone)]
pub(super) enum EditedValue<'a> {
    /// The value as it was parsed.
    Source(&'a str),
    /// A value that was set.
    New(RawJson),
    /// An object that may be edited.
    Object(Box<RawObject<'a>>),
    /// An array that may be edited.
    Array(Box<RawArray<'a>>),
}

impl<'a> EditedValue<'a> {
    /// Returns `true` if something inside the value was edited. A value that was set is an edit of its container.
    pub(super) fn is_edited(&self) -> bool {
        match self {
            Self::Source(_) | Self::New(_) => false,
            Self::Object(object) => object.is_edited(),
            Self::Array(array) => array.is_edited(),
        }
    }

    /// Returns the text of a value inside which nothing was edited.
    pub(super) fn text(&self) -> Option<RawMember<'_>> {
        let text = match self {
            Self::Source(text) => Some(*text),
            Self::New(value) => Some(value.get()),
            Self::Object(object) => object.source.filter(|_| !object.is_edited()),
            Self::Array(array) => array.source().filter(|_| !array.is_edited()),
        };
        text.map(RawMember::checked)
    }

    /// Returns the text of the value, with the edits inside it.
    pub(super) fn written(&self) -> Cow<'_, str> {
        match self.text() {
            Some(text) => Cow::Borrowed(text.get()),
            None => {
                let mut out = Vec::new();
                self.write(&mut out);
                Cow::Owned(raw_json(out).get().to_owned())
            }
        }
    }

    pub(super) fn object_mut(&mut self) -> Option<&mut RawObject<'a>> {
        if let Self::Source(text) = self {
            *self = Self::Object(Box::new(RawObject::of_checked(text)?));
        }
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    pub(super) fn array_mut(&mut self) -> Option<&mut RawArray<'a>> {
        if let Self::Source(text) = self {
            *self = Self::Array(Box::new(RawArray::of_checked(text)?));
        }
        match self {
            Self::Array(array) => Some(array),
            _ => None,
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Source(text) => out.extend_from_slice(text.as_bytes()),
            Self::New(value) => out.extend_from_slice(value.get().as_bytes()),
            Self::Object(object) => object.write(out),
            Self::Array(array) => array.write(out),
        }
    }
}
