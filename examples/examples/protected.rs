//! A server that requires access tokens: scopes for the server and for single tools. Lists contain only the
//! tools that the caller's scopes permit.
//!
//! It has two fixed tokens, so that it runs without an authorization server. A real server only names one.
//! Run it with `cargo run -p toolwire-examples --example protected -- 127.0.0.1:3000`, and call it with
//! `Authorization: Bearer token-of-ann`, or `token-of-bob`, who may also write.

use std::sync::Mutex;

use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{RequestContext, Server, tool};
use toolwire_auth::{ResourceServerConfig, StaticTokens};

static NOTES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Reads all notes.
#[tool(read_only)]
async fn read(ctx: &RequestContext) -> String {
    let reader = ctx.auth().subject.as_deref().unwrap_or("unknown");
    let notes = NOTES.lock().expect("no handler panics").join("\n");
    format!("{reader} reads: {notes}")
}

/// Adds a note.
#[tool(scopes("notes:read", "notes:write"))]
async fn write(text: String) -> String {
    NOTES.lock().expect("no handler panics").push(text);
    "written".to_owned()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let tokens = StaticTokens::new()
        .with_token("token-of-ann", "ann", "notes:read")
        .with_token("token-of-bob", "bob", "notes:read notes:write");
    // Without this verifier, tokens are JWTs signed by the authorization server.
    let resource_server =
        ResourceServerConfig::new("http://localhost:3000/mcp", ["https://auth.example.com"])
            .with_required_scopes(["notes:read"])
            .with_supported_scopes(["notes:read", "notes:write"])
            .with_verifier(tokens)
            .build()?;

    let server = Server::new("protected-example", "1.0.0")
        .with_scope_filtered_lists()
        .tool(read)
        .tool(write);
    let options = HttpOptions::new().with_authorizer(resource_server);
    let listener = HttpListener::bind(server, address, options).await?;
    eprintln!("listening on {}", listener.url());
    listener.run().await?;
    Ok(())
}
