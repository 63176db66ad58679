//! A JSON array as the list of its elements.

use std::borrow::Cow;

use serde_json::value::RawValue;
use toolwire_types::RawJson;

use crate::param_members::RawMember;
use crate::raw_object::edited_value::EditedValue;
use crate::raw_object::{MAX_MEMBERS, RawObject, raw_json};
use crate::strict_json::walk::array_elements;

/// A JSON array whose elements are edited as text.
#[derive(Debug, Clone)]
pub struct RawArray<'a> {
    /// The text that the array was parsed from. `None` for an array that was created empty.
    source: Option<&'a str>,
    elements: Vec<EditedValue<'a>>,
    is_edited: bool,
}

impl<'a> RawArray<'a> {
    /// Lists the elements of an array. Returns `None` if the value is not an array, or if it has more than
    /// [`MAX_MEMBERS`] elements.
    #[must_use]
    pub fn parse(json: &'a RawValue) -> Option<Self> {
        Self::of_checked(json.get())
    }

    /// Lists the elements of an array that a parser has accepted.
    pub(crate) fn of_checked(text: &'a str) -> Option<Self> {
        let mut elements = Vec::new();
        for element in array_elements(text)? {
            if elements.len() == MAX_MEMBERS {
                return None;
            }
            elements.push(EditedValue::Source(element));
        }
        Some(Self {
            source: Some(text),
            elements,
            is_edited: false,
        })
    }

    /// Creates an array without elements.
    #[must_use]
    pub const fn empty() -> Self {
        Self {
            source: None,
            elements: Vec::new(),
            is_edited: true,
        }
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Returns `true` if there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Returns `true` if the array or a value inside it was edited.
    #[must_use]
    pub fn is_edited(&self) -> bool {
        self.is_edited || self.elements.iter().any(EditedValue::is_edited)
    }

    /// Returns the elements, in order. An element inside which something was edited is left out.
    pub fn iter(&self) -> impl Iterator<Item = RawMember<'_>> {
        self.elements.iter().filter_map(EditedValue::text)
    }

    /// Returns the text of an element as it will be written, with the edits inside it. Returns `None` beyond the end.
    #[must_use]
    pub fn written_at(&self, index: usize) -> Option<Cow<'_, str>> {
        let element = self.elements.get(index)?;
        Some(element.written())
    }

    /// Returns the elements that are objects, to be edited.
    pub fn objects_mut(&mut self) -> impl Iterator<Item = &mut RawObject<'a>> {
        self.elements.iter_mut().filter_map(EditedValue::object_mut)
    }

    /// Replaces an element.
    ///
    /// # Panics
    /// Panics if there is no element at the index.
    pub fn set(&mut self, index: usize, value: RawJson) {
        self.is_edited = true;
        self.elements[index] = EditedValue::New(value);
    }

    /// Adds an element at the end.
    pub fn push(&mut self, value: RawJson) {
        self.is_edited = true;
        self.elements.push(EditedValue::New(value));
    }

    /// Appends the array to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        if let Some(source) = self.source
            && !self.is_edited()
        {
            out.extend_from_slice(source.as_bytes());
            return;
        }
        out.push(b'[');
        for (index, element) in self.elements.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            element.write(out);
        }
        out.push(b']');
    }

    /// Returns the array as one value.
    #[must_use]
    pub fn finish(&self) -> RawJson {
        let mut out = Vec::with_capacity(self.source.map_or(0, str::len) + 128);
        self.write(&mut out);
        raw_json(out)
    }

    pub(super) fn source(&self) -> Option<&'a str> {
        self.source
    }
}
