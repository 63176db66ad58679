//! A web API as tools: the server requires access tokens, each tool needs its scope, and the API gets a credential of
//! the server, never the token of the caller.
//!
//! The API is a part of this program, so that the example runs without a network. Over stdio there are no tokens: the
//! user who starts the server may do everything.
//! Run the server with `cargo run -p toolwire-examples --example issue_tracker`, and the client with `-- client`. The
//! module `toolwire_examples::job` lists the other arguments. Over HTTP, the client sends the token in `TRACKER_TOKEN`.

mod api;
mod client;
mod server;

use toolwire::transport::http::HttpOptions;
use toolwire_auth::{ResourceServerConfig, StaticTokens};
use toolwire_examples::job::{self, Role};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Role::from_command_line() {
        Role::Server(address) => {
            let api = api::start().await?;
            // Fixed tokens. Without them, tokens are JWTs that the authorization server signed.
            let tokens = StaticTokens::new()
                .with_token("token-of-ann", "ann", "issues:read")
                .with_token("token-of-bob", "bob", "issues:read issues:write");
            let resource_server = ResourceServerConfig::new(
                "http://localhost:3000/mcp",
                ["https://auth.example.com"],
            )
            .with_required_scopes(["issues:read"])
            .with_supported_scopes(["issues:read", "issues:write"])
            .with_verifier(tokens)
            .build()?;
            let options = HttpOptions::new().with_authorizer(resource_server);
            let server = server::Tracker::new(api)
                .into_server()
                .with_scope_filtered_lists();
            job::serve(server, address, options).await
        }
        Role::Client(choice) => client::run(&choice).await,
    }
}
