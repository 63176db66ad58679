//! The comparison of what an upstream offers with what was approved.

use std::collections::BTreeMap;

use toolwire::{Catalog, RawJson};
use toolwire_proto::relay::pins::{self, Pin, PinKind, PinStatus};

use crate::pins::{PinnedEntry, PinnedText, UpstreamPins};

/// What an upstream offers now.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Offer {
    /// The instructions, if there are any.
    pub instructions: Option<String>,
    /// The prompts: names and descriptors.
    pub prompts: Vec<(String, RawJson)>,
    /// The tools: names and descriptors.
    pub tools: Vec<(String, RawJson)>,
}

impl Offer {
    /// Returns what a catalog offers.
    #[must_use]
    pub fn of(catalog: &Catalog) -> Self {
        Self {
            instructions: catalog.instructions().map(str::to_owned),
            prompts: catalog.prompts(),
            tools: catalog.tools(),
        }
    }

    /// Returns the entries of a kind.
    #[must_use]
    pub fn entries(&self, kind: PinKind) -> &[(String, RawJson)] {
        match kind {
            PinKind::Prompt => &self.prompts,
            _ => &self.tools,
        }
    }

    fn descriptor(&self, kind: PinKind, name: &str) -> Option<&RawJson> {
        let mut entries = self.entries(kind).iter();
        entries.find_map(|(known, descriptor)| (known == name).then_some(descriptor))
    }
}

/// The comparison of one tool or prompt.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EntryReview {
    /// The kind.
    pub kind: PinKind,
    /// The name.
    pub name: String,
    /// The result of the comparison.
    pub status: PinStatus,
    /// The approved descriptor.
    pub approved: Option<RawJson>,
    /// The descriptor that is offered now.
    pub offered: Option<RawJson>,
}

/// The comparison of all that an upstream offers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Review {
    /// The tools and prompts.
    pub entries: Vec<EntryReview>,
    /// The result of the comparison of the instructions.
    pub instructions: PinStatus,
}

impl Review {
    /// Compares an offer with what was approved.
    #[must_use]
    pub fn of(approved: &UpstreamPins, offer: &Offer) -> Self {
        let tools = review_entries(PinKind::Tool, approved, offer);
        let prompts = review_entries(PinKind::Prompt, approved, offer);
        let pinned = approved.instructions.as_ref().map(|pinned| &*pinned.text);
        let instructions = match (pinned, offer.instructions.as_deref()) {
            (None, Some(_)) => PinStatus::New,
            (Some(_), None) => PinStatus::Removed,
            (pinned, offered) if pinned == offered => PinStatus::Same,
            _ => PinStatus::Changed,
        };
        Self {
            entries: tools.into_iter().chain(prompts).collect(),
            instructions,
        }
    }

    /// Returns `true` if everything is as it was approved. An entry whose removal was noticed before does not count.
    #[must_use]
    pub fn is_same(&self) -> bool {
        let mut entries = self.entries.iter();
        self.instructions == PinStatus::Same && entries.all(|entry| entry.status == PinStatus::Same)
    }

    /// Returns the status of a tool or prompt.
    #[must_use]
    pub fn status(&self, kind: PinKind, name: &str) -> Option<PinStatus> {
        let mut entries = self.entries.iter();
        let entry = entries.find(|entry| entry.kind == kind && entry.name == name)?;
        Some(entry.status)
    }
}

/// Compares the entries of a kind. A removed entry that was marked before is not part of the result.
fn review_entries(kind: PinKind, approved: &UpstreamPins, offer: &Offer) -> Vec<EntryReview> {
    let pinned = approved.entries(kind);
    let pins: BTreeMap<String, Pin> = pinned
        .iter()
        .map(|(name, entry)| {
            let mut pin = Pin::new(&entry.digest);
            pin.is_removed = entry.removed;
            (name.clone(), pin)
        })
        .collect();
    let listed = digests(kind, offer);
    let compared = pins::compare(&pins, &listed).into_iter();
    let reviewed = compared
        .filter(|(name, status)| {
            let is_known = pinned.get(*name).is_some_and(|entry| entry.removed);
            *status != PinStatus::Removed || !is_known
        })
        .map(|(name, status)| EntryReview {
            kind,
            name: name.to_owned(),
            status,
            approved: pinned.get(name).map(|entry| entry.descriptor.clone()),
            offered: offer.descriptor(kind, name).cloned(),
        });
    reviewed.collect()
}

fn digests(kind: PinKind, offer: &Offer) -> BTreeMap<String, String> {
    let entries = offer.entries(kind).iter();
    let digests = entries.filter_map(|(name, descriptor)| {
        let digest = pins::digest(kind, descriptor.as_raw_value())?;
        Some((name.clone(), digest))
    });
    digests.collect()
}

impl UpstreamPins {
    /// Approves all that an upstream offers, and forgets what it does not offer.
    #[must_use]
    pub fn of(offer: &Offer) -> Self {
        let mut pins = Self::default();
        for kind in [PinKind::Tool, PinKind::Prompt] {
            for (name, _) in offer.entries(kind) {
                pins.approve(offer, name);
            }
        }
        pins.instructions = offer.instructions.as_deref().map(PinnedText::new);
        pins
    }

    /// Approves the tool and the prompt of a name as they are offered, or their removal. Returns `false` if neither is
    /// offered or approved.
    pub fn approve(&mut self, offer: &Offer, name: &str) -> bool {
        let mut is_known = false;
        for kind in [PinKind::Tool, PinKind::Prompt] {
            let offered = offer.descriptor(kind, name);
            let entries = self.entries_mut(kind);
            match offered.and_then(|descriptor| PinnedEntry::new(kind, descriptor)) {
                Some(entry) if entries.len() < pins::MAX_PINS || entries.contains_key(name) => {
                    entries.insert(name.to_owned(), entry);
                    is_known = true;
                }
                Some(_) => {}
                None => is_known |= entries.remove(name).is_some(),
            }
        }
        is_known
    }

    /// Marks the entries that are not offered any more. Returns `true` if one was marked.
    pub fn mark_removed(&mut self, offer: &Offer) -> bool {
        let mut is_marked = false;
        for kind in [PinKind::Tool, PinKind::Prompt] {
            for (name, entry) in self.entries_mut(kind) {
                if !entry.removed && offer.descriptor(kind, name).is_none() {
                    entry.removed = true;
                    is_marked = true;
                }
            }
        }
        is_marked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(tools: &[(&str, &str)], instructions: Option<&str>) -> Offer {
        let tools = tools.iter().map(|(name, description)| {
            let text = format!(r#"{{"name":"{name}","description":"{description}"}}"#);
            let json = RawJson::from_string(text).expect("the text is JSON");
            ((*name).to_owned(), json)
        });
        Offer {
            instructions: instructions.map(str::to_owned),
            prompts: Vec::new(),
            tools: tools.collect(),
        }
    }

    fn statuses(pins: &UpstreamPins, offer: &Offer) -> Vec<(String, PinStatus)> {
        let review = Review::of(pins, offer);
        let entries = review.entries.into_iter();
        entries.map(|entry| (entry.name, entry.status)).collect()
    }

    #[test]
    fn every_difference_is_found_and_approved() {
        let first = offer(&[("a", "1"), ("b", "1")], Some("hi"));
        let mut pins = UpstreamPins::of(&first);
        assert!(Review::of(&pins, &first).is_same());
        let second = offer(&[("a", "2"), ("c", "1")], Some("hello"));
        let expected = [
            ("a", PinStatus::Changed),
            ("b", PinStatus::Removed),
            ("c", PinStatus::New),
        ];
        let expected = expected.map(|(name, status)| (name.to_owned(), status));
        assert_eq!(statuses(&pins, &second), expected);
        assert_eq!(Review::of(&pins, &second).instructions, PinStatus::Changed);
        for name in ["a", "b", "c"] {
            assert!(pins.approve(&second, name), "{name}");
        }
        assert!(!pins.approve(&second, "d"));
        assert_eq!(
            statuses(&pins, &second),
            [
                ("a".to_owned(), PinStatus::Same),
                ("c".to_owned(), PinStatus::Same)
            ]
        );
    }

    #[test]
    fn removed_and_added_entry_counts_as_changed() {
        let both = offer(&[("a", "1"), ("b", "1")], None);
        let mut pins = UpstreamPins::of(&both);
        let one = offer(&[("a", "1")], None);
        assert!(pins.mark_removed(&one));
        assert!(!pins.mark_removed(&one));
        assert!(Review::of(&pins, &one).is_same());
        let status = Review::of(&pins, &both).status(PinKind::Tool, "b");
        assert_eq!(status, Some(PinStatus::Changed));
    }
}
