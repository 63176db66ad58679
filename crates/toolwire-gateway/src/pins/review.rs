//! The comparison of what an upstream offers with what was approved.

use std::collections::BTreeMap;

use toolwire::RawJson;
use toolwire_proto::relay::pins::{self, Pin, PinKind, PinStatus};

use crate::pins::offer::OfferedEntry;
use crate::pins::{Offer, PinnedEntry, PinnedText, UpstreamPins};

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
    /// Whether the upstream lists the name more than once. Such an entry cannot be approved.
    pub is_listed_twice: bool,
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
        let instructions = match (pinned, offer.instructions()) {
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
    let (pinned, offered) = (approved.entries(kind), offer.entries(kind));
    let pins: BTreeMap<String, Pin> = pinned
        .iter()
        .map(|(name, entry)| {
            let mut pin = Pin::new(&entry.digest);
            pin.is_removed = entry.removed;
            (name.clone(), pin)
        })
        .collect();
    // A descriptor without a digest is never the approved one.
    let listed: BTreeMap<String, String> = offered
        .iter()
        .map(|(name, entry)| (name.clone(), entry.digest.clone().unwrap_or_default()))
        .collect();
    let compared = pins::compare(&pins, &listed).into_iter();
    let reviewed = compared
        .filter(|(name, status)| {
            let is_known = pinned.get(*name).is_some_and(|entry| entry.removed);
            *status != PinStatus::Removed || !is_known
        })
        .map(|(name, status)| {
            let offered = offered.get(name);
            EntryReview {
                kind,
                name: name.to_owned(),
                status,
                approved: pinned.get(name).map(|entry| entry.descriptor.clone()),
                offered: offered.map(|entry| entry.descriptor.clone()),
                is_listed_twice: offered.is_some_and(|entry| entry.digest.is_none()),
            }
        });
    reviewed.collect()
}

impl OfferedEntry {
    /// Returns the approved entry. `None` if it cannot be approved.
    fn pinned(&self) -> Option<PinnedEntry> {
        Some(PinnedEntry {
            digest: self.digest.clone()?,
            removed: false,
            descriptor: self.descriptor.clone(),
        })
    }
}

impl UpstreamPins {
    /// Approves all that an upstream offers, and forgets what it does not offer. A name that is listed more than once is
    /// not approved.
    #[must_use]
    pub fn of(offer: &Offer) -> Self {
        let mut pins = Self::default();
        for kind in [PinKind::Tool, PinKind::Prompt] {
            let offered = offer.entries(kind).iter();
            let approved = offered
                .filter_map(|(name, entry)| Some((name.clone(), entry.pinned()?)))
                .take(pins::MAX_PINS);
            *pins.entries_mut(kind) = approved.collect();
        }
        pins.instructions = offer.instructions().map(PinnedText::new);
        pins
    }

    /// Approves the tool and the prompt of a name as they are offered, or their removal. Returns `false` if neither is
    /// offered or approved, and if the name is listed more than once.
    pub fn approve(&mut self, offer: &Offer, name: &str) -> bool {
        let mut is_known = false;
        for kind in [PinKind::Tool, PinKind::Prompt] {
            let entries = self.entries_mut(kind);
            match offer.entries(kind).get(name).map(OfferedEntry::pinned) {
                Some(Some(entry))
                    if entries.len() < pins::MAX_PINS || entries.contains_key(name) =>
                {
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
                if !entry.removed && !offer.entries(kind).contains_key(name) {
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
        Offer::new(instructions.map(str::to_owned), Vec::new(), tools.collect())
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

    #[test]
    fn name_that_is_listed_twice_is_never_approved() {
        let mut pins = UpstreamPins::of(&offer(&[("a", "1")], None));
        for listed in [
            [("a", "2"), ("a", "1")],
            [("a", "1"), ("a", "2")],
            [("a", "1"), ("a", "1")],
        ] {
            let twice = offer(&listed, None);
            let review = Review::of(&pins, &twice);
            assert_eq!(review.status(PinKind::Tool, "a"), Some(PinStatus::Changed));
            assert!(review.entries[0].is_listed_twice);
            assert!(!pins.approve(&twice, "a"), "{listed:?}");
            assert!(UpstreamPins::of(&twice).is_empty(), "{listed:?}");
        }
    }

    #[test]
    fn digest_of_an_offer_covers_what_is_approved() {
        let base = offer(&[("a", "1"), ("b", "1")], Some("hi"));
        let others = [
            offer(&[("a", "2"), ("b", "1")], Some("hi")),
            offer(&[("a", "1")], Some("hi")),
            offer(&[("a", "1"), ("b", "1"), ("c", "1")], Some("hi")),
            offer(&[("a", "1"), ("b", "1"), ("b", "1")], Some("hi")),
            offer(&[("a", "1"), ("b", "1")], Some("ho")),
            offer(&[("a", "1"), ("b", "1")], None),
        ];
        for other in &others {
            assert_ne!(other.digest(), base.digest());
        }
        assert_eq!(base.digest().len(), 40);
        assert_ne!(others[0].digest_of("a"), base.digest_of("a"));
        assert_eq!(others[0].digest_of("b"), base.digest_of("b"));
        assert_ne!(others[1].digest_of("b"), base.digest_of("b"));
        assert_ne!(others[3].digest_of("b"), base.digest_of("b"));
    }
}
