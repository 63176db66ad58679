//! Formats the server cards of a domain.

use std::fmt::Write;

use toolwire::types::server_card::ServerCard;

use crate::show::{Style, plain_text};

/// Returns the cards as lines with labels, with an empty line between two cards.
pub(crate) fn server_cards(cards: &[&ServerCard], style: Style) -> String {
    let mut text = String::new();
    for card in cards {
        if !text.is_empty() {
            text.push('\n');
        }
        let mut line = |label: &str, value: &str| {
            let label = format!("{label:<13}");
            let _ = writeln!(text, "{} {}", style.paint.dim(&label), plain_text(value));
        };
        let name = format!("{} {}", card.name, card.version);
        match &card.title {
            Some(title) => line("server", &format!("{title} ({name})")),
            None => line("server", &name),
        }
        line("description", &card.description);
        if let Some(website) = &card.website_url {
            line("website", website);
        }
        for remote in &card.remotes {
            line("url", &remote.url);
            line("transport", &remote.transport);
            if !remote.supported_protocol_versions.is_empty() {
                line("supports", &remote.supported_protocol_versions.join(", "));
            }
        }
    }
    text
}
