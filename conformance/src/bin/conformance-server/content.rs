//! Tools that return each kind of content.

use toolwire::types::TextResourceContents;
use toolwire::{ContentBlock, Server, ToolError, tool};

/// A PNG image of one red pixel.
pub(crate) const RED_PIXEL_PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// A WAV file without samples.
const SILENCE_WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

pub(crate) fn add_to(server: Server) -> Server {
    server
        .tool(test_simple_text)
        .tool(test_image_content)
        .tool(test_audio_content)
        .tool(test_embedded_resource)
        .tool(test_multiple_content_types)
        .tool(test_error_handling)
}

/// Returns a text.
#[tool(read_only)]
fn test_simple_text() -> &'static str {
    "This is a simple text response for testing."
}

/// Returns an image.
#[tool(read_only)]
fn test_image_content() -> ContentBlock {
    ContentBlock::image(RED_PIXEL_PNG, "image/png")
}

/// Returns audio.
#[tool(read_only)]
fn test_audio_content() -> ContentBlock {
    ContentBlock::audio(SILENCE_WAV, "audio/wav")
}

/// Returns a resource together with its text.
#[tool(read_only)]
fn test_embedded_resource() -> ContentBlock {
    ContentBlock::resource(
        TextResourceContents::new(
            "test://embedded-resource",
            "This is an embedded resource content.",
        )
        .with_mime_type("text/plain"),
    )
}

/// Returns a text, an image and a resource.
#[tool(read_only)]
fn test_multiple_content_types() -> Vec<ContentBlock> {
    let resource = TextResourceContents::new(
        "test://mixed-content-resource",
        r#"{"test":"data","value":123}"#,
    );
    vec![
        ContentBlock::text("Multiple content types test:"),
        ContentBlock::image(RED_PIXEL_PNG, "image/png"),
        ContentBlock::resource(resource.with_mime_type("application/json")),
    ]
}

/// Always fails.
#[tool(read_only)]
fn test_error_handling() -> Result<(), ToolError> {
    Err(ToolError::failed(
        "This tool intentionally returns an error for testing",
    ))
}
