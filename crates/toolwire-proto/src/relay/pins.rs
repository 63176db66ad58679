//! Pinned descriptors: a tool, prompt or instruction text that changes after it was approved is detected.
//!
//! A pin is a digest of the members that a model or a user relies on. The operator approves the digests; an upstream
//! that changes a descriptor later, or removes it and adds it again, needs a new approval.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use toolwire_types::RawJson;

use crate::canonical_json::canonical_text;
use crate::raw_object::RawObject;

/// The maximum number of pins of one upstream.
pub const MAX_PINS: usize = 10_000;

/// A descriptor that is pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum PinKind {
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
}

impl PinKind {
    /// Returns the members that the digest covers.
    fn members(self) -> &'static [&'static str] {
        match self {
            Self::Tool => &[
                "name",
                "title",
                "description",
                "inputSchema",
                "outputSchema",
                "annotations",
                "icons",
                "execution",
            ],
            Self::Prompt => &["name", "title", "description", "arguments", "icons"],
        }
    }
}

/// Returns the digest of a descriptor, as `sha256:` and hexadecimal digits. Returns `None` if it is not an object.
///
/// It covers the members that a model or user relies on. The order of members, white space and the spelling of numbers
/// and strings do not matter.
#[must_use]
pub fn digest(kind: PinKind, descriptor: &RawValue) -> Option<String> {
    let descriptor = RawObject::parse(descriptor)?;
    let mut pinned = RawObject::empty();
    for member in kind.members() {
        if let Some(value) = descriptor.get(member) {
            pinned.set(*member, value.raw().into());
        }
    }
    Some(hex_digest(&canonical_text(&pinned.finish())))
}

/// Returns the digest of an instruction text.
#[must_use]
pub fn instructions_digest(text: &str) -> String {
    let text = RawJson::from_serialize(text).expect("a string is always JSON");
    hex_digest(text.get())
}

fn hex_digest(text: &str) -> String {
    let mut digest = String::from("sha256:");
    for byte in Sha256::digest(text) {
        write!(digest, "{byte:02x}").expect("a string accepts any text");
    }
    digest
}

/// An approved descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the lock file of a relay has exactly these members"
)]
pub struct Pin {
    /// The digest of the approved descriptor.
    pub digest: String,
    /// Whether the upstream has removed the descriptor since.
    pub is_removed: bool,
}

impl Pin {
    /// Creates the pin of an approved descriptor.
    #[must_use]
    pub fn new(digest: impl Into<String>) -> Self {
        Self {
            digest: digest.into(),
            is_removed: false,
        }
    }
}

/// The comparison of a descriptor with its pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PinStatus {
    /// There is no pin.
    New,
    /// The descriptor is the approved one.
    Same,
    /// The descriptor is another one, or it was removed in between.
    Changed,
    /// The upstream does not list the descriptor any more.
    Removed,
}

/// What a relay does with new and changed descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PinMode {
    /// The operator approves each of them.
    Ask,
    /// They are not usable.
    Block,
    /// They are usable, and reported.
    Warn,
}

impl PinMode {
    /// Returns `true` if a call of a tool or prompt with this status is forwarded.
    #[must_use]
    pub fn permits(self, status: PinStatus) -> bool {
        match status {
            PinStatus::Same => true,
            PinStatus::New | PinStatus::Changed => self == Self::Warn,
            PinStatus::Removed => false,
        }
    }
}

/// Compares the listed descriptors of an upstream with their pins, by name. Each listed and each pinned name has a
/// status.
#[must_use]
pub fn compare<'a>(
    pins: &'a BTreeMap<String, Pin>,
    listed: &'a BTreeMap<String, String>,
) -> BTreeMap<&'a str, PinStatus> {
    let of_listed = listed.iter().map(|(name, digest)| {
        let status = match pins.get(name) {
            None => PinStatus::New,
            Some(pin) if pin.is_removed || pin.digest != *digest => PinStatus::Changed,
            Some(_) => PinStatus::Same,
        };
        (name.as_str(), status)
    });
    let removed = pins
        .keys()
        .filter(|name| !listed.contains_key(*name))
        .map(|name| (name.as_str(), PinStatus::Removed));
    of_listed.chain(removed).collect()
}

/// Marks the pins whose names an upstream does not list any more, so that they count as changed if they come back.
/// Returns `true` if a pin was marked.
pub fn mark_removed(pins: &mut BTreeMap<String, Pin>, listed: &BTreeMap<String, String>) -> bool {
    let mut is_marked = false;
    for (name, pin) in pins {
        if !pin.is_removed && !listed.contains_key(name) {
            pin.is_removed = true;
            is_marked = true;
        }
    }
    is_marked
}

/// Pins the listed descriptor of a name, after the operator approved it. Returns `false` if it is not listed, or if
/// there are [`MAX_PINS`] pins.
pub fn approve(
    pins: &mut BTreeMap<String, Pin>,
    listed: &BTreeMap<String, String>,
    name: &str,
) -> bool {
    let Some(digest) = listed.get(name) else {
        return false;
    };
    if pins.len() >= MAX_PINS && !pins.contains_key(name) {
        return false;
    }
    pins.insert(name.to_owned(), Pin::new(digest));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool_digest(text: &str) -> String {
        let json = RawJson::from_string(text.to_owned()).expect("the text is JSON");
        digest(PinKind::Tool, json.as_raw_value()).expect("an object")
    }

    #[test]
    fn digest_covers_what_a_model_reads() {
        let base = tool_digest(
            r#"{"name":"a","description":"d","inputSchema":{"type":"object","maximum":1}}"#,
        );
        let check =
            |text: &str, is_same: bool| assert_eq!(tool_digest(text) == base, is_same, "{text}");
        check(
            r#"{ "inputSchema" : {"maximum":1.0, "type":"object"}, "name":"\u0061", "description":"d" }"#,
            true,
        );
        check(
            r#"{"name":"a","description":"d","inputSchema":{"type":"object","maximum":1},"_meta":{"k":1},"x":1}"#,
            true,
        );
        check(
            r#"{"name":"a","description":"D","inputSchema":{"type":"object","maximum":1}}"#,
            false,
        );
        check(
            r#"{"name":"a","description":"d","inputSchema":{"type":"object","maximum":2}}"#,
            false,
        );
        for member in ["title", "outputSchema", "annotations", "icons", "execution"] {
            check(
                &format!(
                    r#"{{"name":"a","description":"d","inputSchema":{{"type":"object","maximum":1}},"{member}":{{}}}}"#
                ),
                false,
            );
        }
        assert_eq!(base.len(), "sha256:".len() + 64);
        let prompt = RawJson::from_string(r#"{"name":"a","arguments":[]}"#.to_owned()).unwrap();
        let other =
            RawJson::from_string(r#"{"name":"a","arguments":[{"name":"b"}]}"#.to_owned()).unwrap();
        assert_ne!(
            digest(PinKind::Prompt, prompt.as_raw_value()),
            digest(PinKind::Prompt, other.as_raw_value())
        );
        assert_eq!(digest(PinKind::Tool, RawJson::null().as_raw_value()), None);
        // The digests are in lock files, so they must not change between releases.
        assert_eq!(
            tool_digest(r#"{"name":"a"}"#),
            "sha256:d9d719b27480b55cd4918020e7473e716ed3569c8adafe926cf9b10b4f8ef064"
        );
        assert_eq!(
            instructions_digest("Use it."),
            "sha256:a2618e0844fb6ad939e99d17450af651c2fe00d27610235e0d3b25c06263d627"
        );
    }

    #[test]
    fn descriptors_are_compared_with_their_pins() {
        let listed = |entries: &[(&str, &str)]| -> BTreeMap<String, String> {
            let owned = |(name, digest): &(&str, &str)| ((*name).to_owned(), (*digest).to_owned());
            entries.iter().map(owned).collect()
        };
        let check = |pins: &BTreeMap<String, Pin>,
                     now: &BTreeMap<String, String>,
                     expected: &[(&str, PinStatus)]| {
            let actual: Vec<_> = compare(pins, now).into_iter().collect();
            assert_eq!(actual, expected);
        };
        let mut pins = BTreeMap::new();
        let first = listed(&[("a", "1"), ("b", "2")]);
        check(
            &pins,
            &first,
            &[("a", PinStatus::New), ("b", PinStatus::New)],
        );
        assert!(approve(&mut pins, &first, "a") && approve(&mut pins, &first, "b"));
        assert!(!approve(&mut pins, &first, "c"));
        check(
            &pins,
            &first,
            &[("a", PinStatus::Same), ("b", PinStatus::Same)],
        );
        let second = listed(&[("a", "9"), ("c", "3")]);
        check(
            &pins,
            &second,
            &[
                ("a", PinStatus::Changed),
                ("b", PinStatus::Removed),
                ("c", PinStatus::New),
            ],
        );
        assert!(mark_removed(&mut pins, &second));
        assert!(!mark_removed(&mut pins, &second));
        // The same descriptor as before counts as changed after it was removed.
        check(
            &pins,
            &first,
            &[("a", PinStatus::Same), ("b", PinStatus::Changed)],
        );
        assert!(approve(&mut pins, &first, "b"));
        check(
            &pins,
            &first,
            &[("a", PinStatus::Same), ("b", PinStatus::Same)],
        );
    }

    #[test]
    fn only_warnings_permit_new_and_changed_descriptors() {
        use PinStatus::{Changed, New, Removed, Same};
        for mode in [PinMode::Ask, PinMode::Block, PinMode::Warn] {
            assert!(mode.permits(Same));
            assert!(!mode.permits(Removed));
            assert_eq!(mode.permits(New), mode == PinMode::Warn);
            assert_eq!(mode.permits(Changed), mode == PinMode::Warn);
        }
    }

    #[test]
    fn number_of_pins_is_limited() {
        let listed: BTreeMap<String, String> = (0..=MAX_PINS)
            .map(|index| (format!("n{index}"), "d".to_owned()))
            .collect();
        let mut pins = BTreeMap::new();
        let approved = listed
            .keys()
            .filter(|name| approve(&mut pins, &listed, name))
            .count();
        assert_eq!(approved, MAX_PINS);
        let first = pins.keys().next().expect("a pin").clone();
        assert!(approve(&mut pins, &listed, &first));
    }
}
