//! Formats types of events.

use toolwire::events::{DeliveryMode, EventType};

use crate::show::lists::first_paragraph;
use crate::show::{Style, Table};

/// Returns a table of the types of events.
pub(crate) fn event_types(types: &[EventType], style: Style) -> String {
    let mut table = Table::new(&["EVENT", "DELIVERY", "DESCRIPTION"]);
    for entry in types {
        let modes: Vec<&str> = entry.delivery.iter().map(DeliveryMode::as_str).collect();
        let description = first_paragraph(Some(&entry.description));
        table.row([entry.name.as_str(), &modes.join(", "), description]);
    }
    if table.is_empty() {
        return format!("{}\n", style.paint.dim("no events"));
    }
    table.render(style)
}
