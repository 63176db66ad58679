//! Reads the catalog and the cards of a domain, which are untrusted.

use serde_json::Value;
use toolwire_types::server_card::{CARD_MEDIA_TYPE, CardCatalog, CatalogEntry, ServerCard};

use crate::http::truncated_for_display;
use crate::server_card::{CardName, InvalidCard};
use crate::web_url::WebUrl;

/// The maximum size of a catalog in bytes.
pub const MAX_CATALOG_BYTES: usize = 256 * 1024;

/// The maximum size of a card in bytes.
pub const MAX_CARD_BYTES: usize = 64 * 1024;

/// The maximum number of cards that a client reads from one catalog.
pub const MAX_CARDS: usize = 32;

/// The server cards that a catalog lists.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ListedCards {
    /// The first [`MAX_CARDS`] server cards. An entry that cannot be used is an error, which names its id.
    pub cards: Vec<(String, Result<CardSource, InvalidCard>)>,
    /// The number of further server cards.
    pub left_out: usize,
}

/// The place of a card.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "a catalog defines these two")]
pub enum CardSource {
    /// The URL of the card.
    Url(String),
    /// The card itself.
    Inline(Box<ServerCard>),
}

/// Reads a catalog. Entries of other media types are ignored.
///
/// # Errors
/// Returns an error if the document is not a catalog.
pub fn catalog(document: &[u8]) -> Result<ListedCards, InvalidCard> {
    let catalog: CardCatalog = serde_json::from_slice(document)
        .map_err(|error| invalid("the document is not a catalog", &error))?;
    let mut listed = ListedCards::default();
    let is_card = |entry: &&Value| {
        let media_type = entry.get("type").or_else(|| entry.get("mediaType"));
        media_type.and_then(Value::as_str) == Some(CARD_MEDIA_TYPE)
    };
    for entry in catalog.entries.iter().filter(is_card) {
        if listed.cards.len() == MAX_CARDS {
            listed.left_out += 1;
            continue;
        }
        let identifier = entry.get("identifier").and_then(Value::as_str);
        let identifier = truncated_for_display(identifier.unwrap_or_default());
        listed.cards.push((identifier, source(entry)));
    }
    Ok(listed)
}

fn source(entry: &Value) -> Result<CardSource, InvalidCard> {
    let entry: CatalogEntry = serde_json::from_value(entry.clone())
        .map_err(|error| invalid("the entry is invalid", &error))?;
    match (entry.url, entry.data) {
        (Some(url), None) => Ok(CardSource::Url(url)),
        (None, Some(data)) => {
            let card = serde_json::from_value(data).map_err(|error| not_a_card(&error))?;
            Ok(CardSource::Inline(Box::new(checked(card)?)))
        }
        _ => Err(InvalidCard(
            "the entry needs either `url` or `data`".to_owned(),
        )),
    }
}

/// Reads a card.
///
/// # Errors
/// Returns an error if the document is not a server card, or if its name is invalid.
pub fn card(document: &[u8]) -> Result<ServerCard, InvalidCard> {
    checked(serde_json::from_slice(document).map_err(|error| not_a_card(&error))?)
}

fn not_a_card(error: &serde_json::Error) -> InvalidCard {
    invalid("the document is not a server card", error)
}

/// Returns the error for a document. The error of the parser repeats values of the document, so it is shortened.
fn invalid(problem: &str, error: &serde_json::Error) -> InvalidCard {
    let reason = truncated_for_display(&error.to_string());
    InvalidCard(format!("{problem}: {reason}"))
}

/// Checks what a client relies on. Lengths of texts are not checked, because the size of a document is limited.
fn checked(card: ServerCard) -> Result<ServerCard, InvalidCard> {
    // A later version of the format has another number, and the members that are read here.
    let version = card
        .schema
        .strip_prefix("https://static.modelcontextprotocol.io/schemas/v")
        .and_then(|rest| rest.strip_suffix("/server-card.schema.json"));
    let is_card = version.is_some_and(|version| {
        !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit())
    });
    if !is_card {
        return Err(InvalidCard(format!(
            "`$schema` is {:?}, which is not the schema of a server card",
            truncated_for_display(&card.schema)
        )));
    }
    CardName::parse(&card.name)?;
    Ok(card)
}

/// The addresses from which a card is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a client connects to all addresses or to public ones"
)]
pub enum CardAddresses {
    /// All addresses.
    Any,
    /// Public addresses only.
    PublicOnly,
}

/// Checks a URL from a catalog, and returns from which addresses its card is fetched.
///
/// The owner of a domain decides which URLs its catalog contains. A catalog on another machine must not lead to the
/// network of the client, so only its own host may have a private address. `catalog` is the URL of the catalog.
///
/// # Errors
/// Returns an error if the URL is invalid, needs plain HTTP on another machine, or points from another machine to this
/// one.
pub fn card_addresses(catalog: &WebUrl<'_>, text: &str) -> Result<CardAddresses, InvalidCard> {
    let url = WebUrl::parse(text).map_err(|error| InvalidCard(error.to_string()))?;
    let problem = if url.is_loopback() && !catalog.is_loopback() {
        "is on this machine, and the catalog is not"
    } else if !url.is_confidential() {
        "does not start with `https://`"
    } else if catalog.is_loopback() || url.is_same_host(catalog) {
        return Ok(CardAddresses::Any);
    } else {
        return Ok(CardAddresses::PublicOnly);
    };
    Err(InvalidCard(format!(
        "the URL of the card, {:?}, {problem}",
        truncated_for_display(text)
    )))
}
