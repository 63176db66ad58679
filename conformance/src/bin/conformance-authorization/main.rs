//! The authorization server for the official conformance suite: toolwire's OAuth proxy, with an identity provider that
//! has one user and no login page.

mod provider;

use std::error::Error;
use std::io::Write as _;
use std::net::Ipv4Addr;

use clap::Parser;
use tokio::net::TcpListener;
use toolwire::Server;
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire_auth::{DocumentFetcher, OAuthProxyConfig};

/// Serves the authorization server at `http://127.0.0.1:<port>`.
#[derive(Debug, Parser)]
struct Arguments {
    /// The port; 0 selects a free port.
    #[arg(long, default_value_t = 0)]
    port: u16,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    // The address is needed first, because it is the issuer.
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port)).await?;
    let issuer = format!("http://{}", socket.local_addr()?);
    let upstream = provider::start().await?;
    let proxy = OAuthProxyConfig::new(format!("{issuer}/mcp"), upstream)
        .with_fetcher(DocumentFetcher::with_loopback_allowed())
        .build()?;
    let server = Server::new("toolwire-conformance", env!("CARGO_PKG_VERSION"));
    let options = HttpOptions::new().with_authorizer(proxy);
    let listener = HttpListener::from_listener(server, socket, options)?;
    // The parent process waits for this line and reads the port from it.
    let mut stdout = std::io::stdout();
    writeln!(stdout, "listening on {issuer}")?;
    stdout.flush()?;
    listener.run().await?;
    Ok(())
}
