//! The rules of server cards (SEP-2127, a draft; `docs/discovery.md` and `schema.ts` of its repository).
//!
//! A server publishes a card with its identity and its endpoint, and a catalog that lists the card: [`card`],
//! [`catalog`]. A client reads the catalog of a domain and then the cards: [`read`]. A card is untrusted and unverified.
//! It only says where to connect.

pub mod read;

use std::fmt;

use toolwire_types::Implementation;
use toolwire_types::server_card::{CARD_SUFFIX, CardCatalog, CardRemote, CatalogEntry, ServerCard};

use crate::http::truncated_for_display;
use crate::web_url::WebUrl;

/// The maximum length of a name in characters.
const MAX_NAME: usize = 200;

/// The maximum length of a version in characters.
const MAX_VERSION: usize = 255;

/// The maximum length of a title or a description in characters.
const MAX_TEXT: usize = 100;

/// A name of a server card, such as `com.example/weather`: a namespace in reverse DNS notation, and a server in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardName(String);

impl CardName {
    /// Checks a name.
    ///
    /// # Errors
    /// Returns an error if the name is not `namespace/server`, is too long, or has other characters.
    pub fn parse(name: &str) -> Result<Self, InvalidCard> {
        let invalid = |problem: &str| {
            let shown = truncated_for_display(name);
            Err(InvalidCard(format!(
                "the name {shown:?} {problem}; write a domain that you own in reverse order, a slash and a name, as in \
                 `com.example/weather`"
            )))
        };
        let Some((namespace, server)) = name.split_once('/') else {
            return invalid("has no slash");
        };
        if namespace.is_empty() || server.is_empty() {
            return invalid("has an empty part");
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
        let is_valid = namespace.bytes().all(is_plain)
            && server.bytes().all(|byte| is_plain(byte) || byte == b'_');
        if !is_valid {
            return invalid(
                "has a character besides ASCII letters, digits, `.`, `-`, one slash, and `_` after it",
            );
        }
        if name.len() > MAX_NAME {
            return invalid("has more than 200 characters");
        }
        Ok(Self(name.to_owned()))
    }

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the id of the card in a catalog: `urn:air:example.com:mcp:weather` for `com.example/weather`.
    #[must_use]
    pub fn identifier(&self) -> String {
        let (namespace, server) = self.0.split_once('/').unwrap_or_default();
        let labels: Vec<_> = namespace.rsplit('.').collect();
        format!("urn:air:{}:mcp:{server}", labels.join("."))
    }
}

/// Checks the version of a server for its card.
///
/// # Errors
/// Returns an error if the version is too long, or is a range such as `^1.2`.
pub fn check_version(version: &str) -> Result<(), InvalidCard> {
    let is_wildcard = |part: &str| matches!(part, "x" | "X" | "*");
    let is_range =
        version.starts_with(['^', '~', '<', '>', '=']) || version.split('.').any(is_wildcard);
    let problem = if is_range {
        "is a range"
    } else if version.chars().count() > MAX_VERSION {
        "has more than 255 characters"
    } else {
        return Ok(());
    };
    Err(InvalidCard(format!(
        "the version {:?} {problem}; give the server one version, as in `1.0.2`",
        truncated_for_display(version)
    )))
}

/// Checks a URL under which clients reach an endpoint.
///
/// # Errors
/// Returns an error if the text is not an absolute `http` or `https` URL, or if it has a query or a fragment.
pub fn check_public_url(text: &str) -> Result<(), InvalidCard> {
    match WebUrl::parse(text) {
        Ok(url) if url.query.is_none() && !url.has_fragment => Ok(()),
        Ok(_) => Err(InvalidCard(format!(
            "the URL {:?} has a query or a fragment; write the URL of the endpoint without them",
            truncated_for_display(text)
        ))),
        Err(error) => Err(InvalidCard(error.to_string())),
    }
}

/// Returns the path of a card, for the path of its endpoint.
#[must_use]
pub fn card_path(endpoint: &str) -> String {
    format!("{}{CARD_SUFFIX}", endpoint.trim_end_matches('/'))
}

/// Returns the card of a server whose endpoint is at `url`.
///
/// Title and description are shortened to the 100 characters of the schema. A server without a description is described
/// by its title or its name, because a card needs a description.
#[must_use]
pub fn card(
    name: &CardName,
    info: &Implementation,
    url: &str,
    versions: impl IntoIterator<Item = &'static str>,
) -> ServerCard {
    let not_empty = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let title = not_empty(&info.title);
    let description = not_empty(&info.description)
        .or_else(|| title.clone())
        .unwrap_or_else(|| format!("MCP server {}", info.name));
    let mut card = ServerCard::new(name.as_str(), &*info.version, shortened(&description));
    card.title = title.as_deref().map(shortened);
    card.website_url.clone_from(&info.website_url);
    card.icons.clone_from(&info.icons);
    let mut remote = CardRemote::streamable_http(url);
    remote.supported_protocol_versions = versions.into_iter().map(str::to_owned).collect();
    card.remotes.push(remote);
    card
}

/// Returns the catalog with the card of one server, whose endpoint is at `url`.
#[must_use]
pub fn catalog(name: &CardName, url: &str) -> CardCatalog {
    let entry = CatalogEntry::of_card(name.identifier(), card_path(url));
    let mut catalog = CardCatalog::new();
    catalog.entries.extend(serde_json::to_value(entry));
    catalog
}

/// Returns a text of at most 100 characters. A longer one ends with an ellipsis.
fn shortened(text: &str) -> String {
    if text.chars().count() <= MAX_TEXT {
        return text.to_owned();
    }
    let start: String = text.chars().take(MAX_TEXT - 1).collect();
    format!("{}…", start.trim_end())
}

/// The reason why a card or a catalog cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidCard(String);

impl fmt::Display for InvalidCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidCard {}

#[cfg(test)]
mod tests;
