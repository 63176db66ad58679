//! A server whose users log in with GitHub, for MCP clients that register themselves.
//!
//! Register an OAuth app at GitHub with the callback URL `http://localhost:3000/callback`. Then run it with
//! `GITHUB_CLIENT_ID=… GITHUB_CLIENT_SECRET=… cargo run -p toolwire-examples --example oauth_proxy`, and give an MCP
//! client the URL `http://localhost:3000/mcp`.

use std::env;

use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{RequestContext, Server, tool};
use toolwire_auth::{OAuthProxyConfig, Upstream};

/// Returns your GitHub login.
#[tool(read_only)]
async fn whoami(ctx: &RequestContext) -> String {
    let login = ctx
        .auth()
        .claims
        .get("login")
        .and_then(|login| login.as_str());
    login.unwrap_or("unknown").to_owned()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let github = Upstream::github(
        env::var("GITHUB_CLIENT_ID")?,
        env::var("GITHUB_CLIENT_SECRET")?,
    );
    let proxy = OAuthProxyConfig::new("http://localhost:3000/mcp", github)
        .with_name("the example server")
        // Anyone can have a GitHub account: decide here which users are accepted.
        .with_user_filter(|user| user.claims.contains_key("login"))
        .build()?;

    let server = Server::new("oauth-proxy-example", "1.0.0").tool(whoami);
    let options = HttpOptions::new().with_authorizer(proxy);
    let listener = HttpListener::bind(server, address, options).await?;
    eprintln!("listening on {}", listener.url());
    listener.run().await?;
    Ok(())
}
