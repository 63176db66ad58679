//! What an upstream offers now: its instructions, tools and prompts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use toolwire::{Catalog, RawJson};
use toolwire_proto::relay::pins::{PinKind, digest, instructions_digest};

/// The hexadecimal digits of the digest of an offer: 160 bits, so that no upstream can find two offers with one digest.
const DIGEST_DIGITS: usize = 40;

/// What an upstream offers now.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Offer {
    instructions: Option<String>,
    prompts: BTreeMap<String, OfferedEntry>,
    tools: BTreeMap<String, OfferedEntry>,
}

/// A tool or prompt that an upstream lists.
#[derive(Debug, Clone)]
pub(super) struct OfferedEntry {
    /// The descriptor that is listed first.
    pub(super) descriptor: RawJson,
    /// The digest of the descriptor. `None` if the name is listed more than once, because either descriptor may be used.
    pub(super) digest: Option<String>,
}

impl Offer {
    /// Returns what a catalog offers.
    #[must_use]
    pub fn of(catalog: &Catalog) -> Self {
        let instructions = catalog.instructions().map(str::to_owned);
        Self::new(instructions, catalog.prompts(), catalog.tools())
    }

    pub(super) fn new(
        instructions: Option<String>,
        prompts: Vec<(String, RawJson)>,
        tools: Vec<(String, RawJson)>,
    ) -> Self {
        Self {
            instructions,
            prompts: by_name(PinKind::Prompt, prompts),
            tools: by_name(PinKind::Tool, tools),
        }
    }

    /// Returns the instructions, if there are any.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref()
    }

    /// Returns the entries of a kind by name.
    pub(super) fn entries(&self, kind: PinKind) -> &BTreeMap<String, OfferedEntry> {
        match kind {
            PinKind::Prompt => &self.prompts,
            _ => &self.tools,
        }
    }

    /// Returns a digest of everything that is offered, with which an operator states what to approve.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut lines = String::new();
        for kind in [PinKind::Tool, PinKind::Prompt] {
            for name in self.entries(kind).keys() {
                self.add_line(&mut lines, kind, name);
            }
        }
        let instructions = self.instructions.as_deref().map(instructions_digest);
        add_words(&mut lines, &["instructions", &shown(instructions.as_ref())]);
        short_digest(&lines)
    }

    /// Returns a digest of the tool and the prompt of a name, or of their absence.
    #[must_use]
    pub fn digest_of(&self, name: &str) -> String {
        let mut lines = String::new();
        for kind in [PinKind::Tool, PinKind::Prompt] {
            self.add_line(&mut lines, kind, name);
        }
        short_digest(&lines)
    }

    fn add_line(&self, lines: &mut String, kind: PinKind, name: &str) {
        let kind_name = match kind {
            PinKind::Prompt => "prompt",
            _ => "tool",
        };
        let offered = self.entries(kind).get(name);
        let digest = offered.and_then(|entry| entry.digest.as_ref());
        add_words(lines, &[kind_name, name, &shown(digest)]);
    }
}

/// Adds a line of words with their lengths, so that no word can look like several.
fn add_words(lines: &mut String, words: &[&str]) {
    for word in words {
        write!(lines, "{} {word} ", word.len()).expect("a string accepts any text");
    }
    lines.push('\n');
}

fn shown(digest: Option<&String>) -> String {
    digest.cloned().unwrap_or_else(|| "none".to_owned())
}

fn short_digest(lines: &str) -> String {
    let digest = instructions_digest(lines);
    let digits = digest.rsplit(':').next().unwrap_or_default();
    digits.chars().take(DIGEST_DIGITS).collect()
}

fn by_name(kind: PinKind, listed: Vec<(String, RawJson)>) -> BTreeMap<String, OfferedEntry> {
    let mut entries: BTreeMap<String, OfferedEntry> = BTreeMap::new();
    for (name, descriptor) in listed {
        match entries.get_mut(&name) {
            Some(entry) => entry.digest = None,
            None => {
                let digest = digest(kind, descriptor.as_raw_value());
                entries.insert(name, OfferedEntry { descriptor, digest });
            }
        }
    }
    entries
}
