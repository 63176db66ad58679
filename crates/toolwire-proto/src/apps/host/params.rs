//! The parameters of the messages of a view.

use serde::Deserialize;
use toolwire_types::RawJson;

use crate::apps::host::events::ViewEvent;

/// The largest size that a view may report, in CSS pixels.
const MAX_PIXELS: f64 = 100_000.0;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InitializeParams {
    #[expect(dead_code, reason = "its presence is checked")]
    pub(super) protocol_version: String,
}

#[derive(Deserialize)]
pub(super) struct ToolParams {
    pub(super) name: String,
    pub(super) arguments: Option<RawJson>,
}

#[derive(Deserialize)]
pub(super) struct ResourceParams {
    pub(super) uri: String,
}

#[derive(Deserialize)]
pub(super) struct UrlParams {
    pub(super) url: String,
}

#[derive(Deserialize)]
pub(super) struct MessageParams {
    pub(super) role: String,
    pub(super) content: RawJson,
}

#[derive(Deserialize)]
pub(super) struct ModelContextParams {}

#[derive(Deserialize)]
pub(super) struct DisplayModeParams {
    pub(super) mode: String,
}

#[derive(Deserialize)]
pub(super) struct SizeParams {
    pub(super) width: Option<f64>,
    pub(super) height: Option<f64>,
}

impl SizeParams {
    /// Returns the event, or `None` if a size is negative or too large.
    pub(super) fn checked(self) -> Option<ViewEvent> {
        let is_valid =
            |size: Option<f64>| size.is_none_or(|size| (0.0..=MAX_PIXELS).contains(&size));
        let (width, height) = (self.width, self.height);
        (is_valid(width) && is_valid(height)).then_some(ViewEvent::Resize { width, height })
    }
}
