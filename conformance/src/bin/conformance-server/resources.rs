//! The resources.

use serde_json::json;
use toolwire::types::BlobResourceContents;
use toolwire::{ResourceContents, Server, resource, resource_template};

use crate::content::RED_PIXEL_PNG;

pub(crate) fn add_to(server: Server) -> Server {
    server
        .resource(static_text)
        .resource(static_binary)
        .resource(watched_resource)
        .resource_template(template_data)
}

/// A constant text.
#[resource(uri = "test://static-text", mime_type = "text/plain")]
fn static_text() -> &'static str {
    "This is the content of the static text resource."
}

/// A constant image.
#[resource(uri = "test://static-binary", mime_type = "image/png")]
fn static_binary() -> ResourceContents {
    BlobResourceContents::new("test://static-binary", RED_PIXEL_PNG)
        .with_mime_type("image/png")
        .into()
}

/// A text for subscriptions.
#[resource(uri = "test://watched-resource", mime_type = "text/plain")]
fn watched_resource() -> &'static str {
    "This resource may change."
}

/// Data for any id.
#[resource_template(uri = "test://template/{id}/data", mime_type = "application/json")]
fn template_data(id: String) -> String {
    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string()
}
