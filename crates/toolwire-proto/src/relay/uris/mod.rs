//! The URIs under which resources of several sources are exposed.
//!
//! A URI stays as it is while one source claims it. If a second source claims it, the second one is exposed with a
//! prefix: `<source>+<uri>`. So is a URI that looks like a prefixed one. A `ui://` URI must have this scheme, so there the
//! prefix is in the authority. The lists of resources and templates decide who claims a URI; the order of the sources
//! decides who is first. [`rewrite`] replaces the URIs in messages.

pub mod rewrite;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;

use crate::uri_template::{MAX_URI_BYTES, UriTemplate};

/// The maximum number of listed URIs in one table. Others are routed by templates.
pub const MAX_URIS: usize = 65_536;

/// The maximum number of templates in one table. A URI that is not listed is matched with each of them.
pub const MAX_TEMPLATES: usize = 1024;

const UI_SCHEME: &str = "ui://";

/// The owners of URIs. Sources are identified by the index that [`add_source`](Self::add_source) returns.
///
/// A relay builds a new table if a source changes its lists.
#[derive(Debug, Clone, Default)]
pub struct UriTable {
    prefixes: Vec<String>,
    /// Listed URIs in their exposed form.
    listed: HashMap<String, Owner>,
    templates: Vec<OwnedTemplate>,
}

/// The source of a URI, and the URI there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Owner {
    source: usize,
    uri: String,
}

#[derive(Debug, Clone)]
struct OwnedTemplate {
    source: usize,
    exposed: String,
    template: UriTemplate,
    is_prefixed: bool,
}

impl UriTable {
    /// Creates a table without sources.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source and returns its index. Its prefix is made of the name. All sources are added before their URIs, so
    /// that no source can claim a URI with the prefix of another one.
    pub fn add_source(&mut self, name: &str) -> usize {
        let mut prefix = scheme_prefix(name);
        while self.prefixes.contains(&prefix) {
            prefix.push('x');
        }
        self.prefixes.push(prefix);
        self.prefixes.len() - 1
    }

    /// Returns `true` if a URI may have a prefix, so that messages must be searched for URIs.
    #[must_use]
    pub fn may_prefix(&self) -> bool {
        self.prefixes.len() > 1
    }

    /// Adds a listed URI of a source and returns its exposed form. Returns `None` if the table is full, or if the
    /// source already lists the URI or its prefixed form.
    ///
    /// # Panics
    /// Panics if the source was not added.
    pub fn add_uri(&mut self, source: usize, uri: &str) -> Option<String> {
        let plain_owner = self.listed.get(uri);
        if plain_owner.is_some_and(|owner| owner.source == source) || self.listed.len() >= MAX_URIS
        {
            return None;
        }
        let exposed = if plain_owner.is_some() || self.with_prefix(uri).is_some() {
            self.prefixed(source, uri)
        } else {
            uri.to_owned()
        };
        if self.listed.contains_key(&exposed) {
            return None;
        }
        let owner = Owner {
            source,
            uri: uri.to_owned(),
        };
        self.listed.insert(exposed.clone(), owner);
        Some(exposed)
    }

    /// Adds a template of a source and returns its exposed form. A template that is invalid here cannot be routed, and
    /// is exposed as it is.
    ///
    /// Returns `None` if the table is full, or if the source already has the template.
    ///
    /// # Panics
    /// Panics if the source was not added.
    pub fn add_template(&mut self, source: usize, template: &str) -> Option<String> {
        if self.templates.len() >= MAX_TEMPLATES {
            return None;
        }
        let Ok(parsed) = UriTemplate::parse(template) else {
            return Some(template.to_owned());
        };
        let same = |other: &&OwnedTemplate| other.template.as_str() == template;
        let (mut is_own, mut is_prefixed) = (false, false);
        for other in self.templates.iter().filter(same) {
            is_own |= other.source == source;
            is_prefixed = true;
        }
        if is_own {
            return None;
        }
        let exposed = if is_prefixed {
            self.prefixed(source, template)
        } else {
            template.to_owned()
        };
        self.templates.push(OwnedTemplate {
            source,
            exposed: exposed.clone(),
            template: parsed,
            is_prefixed,
        });
        Some(exposed)
    }

    /// Returns the source of an exposed URI, and the URI there. Returns `None` if no source claims it.
    #[must_use]
    pub fn resolve<'u>(&self, exposed: &'u str) -> Option<(usize, Cow<'u, str>)> {
        if exposed.len() > MAX_URI_BYTES {
            return None;
        }
        if let Some(owner) = self.listed.get(exposed) {
            return Some((owner.source, Cow::Owned(owner.uri.clone())));
        }
        // A template of another source that matches everything must not take over prefixed URIs.
        let prefixed = self.with_prefix(exposed);
        let needs_prefix = |source: usize, uri: &str| {
            self.with_prefix(uri).is_some()
                || self.plain_owner(uri).is_some_and(|owner| owner != source)
        };
        if let Some((source, uri)) = &prefixed
            && needs_prefix(*source, uri)
        {
            return prefixed;
        }
        match self.plain_owner(exposed) {
            Some(source) => Some((source, Cow::Borrowed(exposed))),
            None => prefixed,
        }
    }

    /// Returns the exposed form of a URI in a message of a source: the URI itself if it belongs to this source or to
    /// none, and the prefixed form if it belongs to another one.
    ///
    /// # Panics
    /// Panics if the source was not added.
    #[must_use]
    pub fn exposed<'u>(&self, source: usize, uri: &'u str) -> Cow<'u, str> {
        match self.resolve(uri) {
            None => Cow::Borrowed(uri),
            Some((owner, resolved)) if owner == source && resolved == uri => Cow::Borrowed(uri),
            Some(_) => Cow::Owned(self.prefixed(source, uri)),
        }
    }

    /// Returns the exposed form of a template in a list of a source.
    #[must_use]
    pub fn exposed_template<'u>(&self, source: usize, template: &'u str) -> Cow<'u, str> {
        let mut templates = self.templates.iter();
        let owned =
            templates.find(|owned| owned.source == source && owned.template.as_str() == template);
        match owned {
            Some(owned) if owned.is_prefixed => Cow::Owned(owned.exposed.clone()),
            _ => Cow::Borrowed(template),
        }
    }

    /// Returns the source of the most specific template that matches a URI. The first source has precedence.
    fn by_template(&self, uri: &str) -> Option<usize> {
        let mut best: Option<&OwnedTemplate> = None;
        for owned in self.templates.iter().filter(|owned| !owned.is_prefixed) {
            let is_more_specific =
                best.is_none_or(|best| owned.template.specificity() > best.template.specificity());
            if is_more_specific && owned.template.matches(uri).is_some() {
                best = Some(owned);
            }
        }
        best.map(|owned| owned.source)
    }

    /// Returns the source that claims a URI without a prefix.
    fn plain_owner(&self, uri: &str) -> Option<usize> {
        let listed = self.listed.get(uri).filter(|owner| owner.uri == uri);
        listed
            .map(|owner| owner.source)
            .or_else(|| self.by_template(uri))
    }

    /// Returns the source whose prefix a URI has, and the URI without it. A single source never has a prefix.
    fn with_prefix<'u>(&self, uri: &'u str) -> Option<(usize, Cow<'u, str>)> {
        if !self.may_prefix() {
            return None;
        }
        let mut sources = 0..self.prefixes.len();
        sources.find_map(|source| Some((source, self.without_prefix(source, uri)?)))
    }

    fn prefixed(&self, source: usize, uri: &str) -> String {
        let prefix = &self.prefixes[source];
        match uri.strip_prefix(UI_SCHEME) {
            Some(rest) => format!("{UI_SCHEME}{prefix}+{rest}"),
            None => format!("{prefix}+{uri}"),
        }
    }

    fn without_prefix<'u>(&self, source: usize, exposed: &'u str) -> Option<Cow<'u, str>> {
        let prefix = self.prefixes[source].as_str();
        let after = |text: &'u str| text.strip_prefix(prefix)?.strip_prefix('+');
        match exposed.strip_prefix(UI_SCHEME) {
            Some(rest) => after(rest).map(|rest| Cow::Owned(format!("{UI_SCHEME}{rest}"))),
            None => after(exposed).map(Cow::Borrowed),
        }
    }
}

/// Returns the name of a source as the start of a URI scheme, which has lower-case letters, digits, `-` and `.`, and
/// starts with a letter (RFC 3986, section 3.1).
fn scheme_prefix(name: &str) -> String {
    let permitted = |character: char| match character.to_ascii_lowercase() {
        lower @ ('a'..='z' | '0'..='9' | '-' | '.') => lower,
        _ => '-',
    };
    let prefix: String = name.chars().map(permitted).collect();
    if prefix.starts_with(|first: char| first.is_ascii_lowercase()) {
        prefix
    } else {
        format!("x{prefix}")
    }
}
