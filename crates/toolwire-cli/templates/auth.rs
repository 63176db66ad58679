//! An MCP server over HTTP that requires access tokens.
//!
//! The first argument is the address, such as `127.0.0.1:3000`. Two environment variables describe the server:
//! `RESOURCE_URL` is the URL that clients use, and `AUTHORIZATION_SERVER` is the issuer of the tokens. With `--stdio`, the
//! server uses standard input and output, without tokens; `toolwire dev` starts it like this.

use std::env;

use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{RequestContext, Server, tool};
use toolwire_auth::ResourceServerConfig;

/// Adds two integers.
#[tool(read_only)]
async fn add(
    /** The first number. */
    a: i64,
    /** The second number. */
    b: i64,
) -> i64 {
    a.saturating_add(b)
}

/// Returns the name of the caller.
#[tool(read_only)]
async fn who_am_i(ctx: &RequestContext) -> String {
    let subject = ctx.auth().subject.as_deref();
    subject.unwrap_or("unknown").to_owned()
}

fn server() -> Server {
    Server::new("my-server", env!("CARGO_PKG_VERSION"))
        .tool(add)
        .tool(who_am_i)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = env::args().nth(1);
    if address.as_deref() == Some("--stdio") {
        return Ok(server().serve_stdio().await?);
    }
    let address = address.unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let url = env::var("RESOURCE_URL").map_err(|_| "set RESOURCE_URL")?;
    let issuer = env::var("AUTHORIZATION_SERVER").map_err(|_| "set AUTHORIZATION_SERVER")?;
    let authorizer = ResourceServerConfig::new(url, [issuer]).build()?;
    // For clients on other machines, name the host: `.with_public_hosts(["mcp.example.com"])`.
    let options = HttpOptions::new().with_authorizer(authorizer);
    let listener = HttpListener::bind(server(), address, options).await?;
    eprintln!("listening on {}", listener.url());
    listener.run().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolwire::Client;
    use toolwire_auth::StaticTokens;

    use super::*;

    #[tokio::test]
    async fn add_returns_the_sum() -> Result<(), toolwire::Error> {
        let client = Client::in_process(&server()).await?;
        let sum = client.call_tool("add", json!({"a": 1, "b": 2})).await?;
        assert_eq!(sum.content[0].as_text(), Some("3"));
        Ok(())
    }

    #[tokio::test]
    async fn request_without_a_token_is_rejected() -> Result<(), Box<dyn std::error::Error>> {
        let issuers = ["https://auth.example.com"];
        let authorizer = ResourceServerConfig::new("http://127.0.0.1/mcp", issuers)
            .with_verifier(StaticTokens::new())
            .build()?;
        let options = HttpOptions::new().with_authorizer(authorizer);
        let listener = HttpListener::bind(server(), "127.0.0.1:0", options).await?;
        let url = listener.url().to_string();
        let serving = tokio::spawn(listener.run());
        let rejected = Client::connect(&url).await.err();
        let status = rejected.and_then(|error| error.http_status());
        assert_eq!(status, Some(401));
        serving.abort();
        Ok(())
    }
}
