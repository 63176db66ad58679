//! A web API as tools: users log in with OAuth, each tool needs its scope, and the API gets a credential of the server,
//! never the token of the caller.
//!
//! The API and the authorization server are parts of this program, so that the example runs without a network. Over
//! stdio there are no tokens: the user who starts the server may do everything.
//! Run the server with `cargo run -p toolwire-examples --example issue_tracker -- 127.0.0.1:3000`, and the client with
//! `-- client http://127.0.0.1:3000/mcp`. The client opens the browser, where Ann may read and Bob may also write. With
//! `TRACKER_USER=bob` it opens the page itself and logs in as Bob.

mod api;
mod authorization_server;
mod client;
mod server;
mod signing_key;

use tokio::net::TcpListener;
use toolwire::Server;
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire_auth::{DocumentFetcher, ResourceServerConfig};
use toolwire_examples::job::Role;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Role::from_command_line() {
        Role::Server(address) => {
            let api = api::start().await?;
            let server = server::Tracker::new(api).into_server();
            match address {
                Some(address) => serve_http(server, &address).await,
                None => Ok(server.serve_stdio().await?),
            }
        }
        Role::Client(choice) => client::run(&choice).await,
    }
}

async fn serve_http(server: Server, address: &str) -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind(address).await?;
    // A real server has a fixed public URL, and names the issuer of its authorization server.
    let endpoint = format!("http://{}/mcp", listener.local_addr()?);
    let issuer = authorization_server::start().await?;
    let resource_server = ResourceServerConfig::new(endpoint, [issuer])
        .with_required_scopes(["issues:read"])
        .with_supported_scopes(["issues:read", "issues:write"])
        .with_access_token_type()
        // This issuer is on this machine. By default, only public addresses with TLS are used.
        .with_fetcher(DocumentFetcher::with_loopback_allowed())
        .build()?;
    let options = HttpOptions::new().with_authorizer(resource_server);
    let listener = HttpListener::from_listener(server, listener, options)?;
    eprintln!("listening on {}", listener.url());
    Ok(listener.run().await?)
}
