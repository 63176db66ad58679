//! How the examples of whole jobs are started: each is a server and a client for it in one program.
//!
//! | arguments | |
//! |---|---|
//! | none | serves stdio |
//! | `127.0.0.1:3000` | serves HTTP |
//! | `client` | starts this program as a server on stdio, and uses it |
//! | `client http://127.0.0.1:3000/mcp` | uses a server at a URL |
//!
//! With `--legacy` at the end, the client uses revision 2025-11-25 instead of 2026-07-28.

use std::error::Error;

use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{Client, ClientBuilder, Era, Server, ServerCommand};

/// What this process does.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the examples match both roles, and nothing else uses this"
)]
pub enum Role {
    /// Serves HTTP at an address, or stdio.
    Server(Option<String>),
    /// Uses a server.
    Client(ServerChoice),
}

/// The server that a client uses.
#[derive(Debug)]
pub struct ServerChoice {
    /// Without a URL, the client starts this program.
    pub url: Option<String>,
    era: Era,
}

impl Role {
    /// Returns the role that the command line asks for.
    pub fn from_command_line() -> Self {
        let mut arguments: Vec<String> = std::env::args().skip(1).collect();
        let legacy = arguments.iter().any(|argument| argument == "--legacy");
        arguments.retain(|argument| argument != "--legacy");
        let mut arguments = arguments.into_iter();
        match arguments.next() {
            Some(word) if word == "client" => Self::Client(ServerChoice {
                url: arguments.next(),
                era: if legacy { Era::Legacy } else { Era::Modern },
            }),
            address => Self::Server(address),
        }
    }
}

/// Serves HTTP at the address, or stdio.
///
/// # Errors
/// Returns an error if the address cannot be used, or if the transport fails.
pub async fn serve(
    server: Server,
    address: Option<String>,
    options: HttpOptions,
) -> Result<(), Box<dyn Error>> {
    let Some(address) = address else {
        return Ok(server.serve_stdio().await?);
    };
    let listener = HttpListener::bind(server, address, options).await?;
    eprintln!("listening on {}", listener.url());
    Ok(listener.run().await?)
}

impl ServerChoice {
    /// Connects to the server, or starts it.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached or started.
    pub async fn connect(&self, builder: ClientBuilder) -> Result<Client, Box<dyn Error>> {
        let builder = builder.with_era(self.era);
        Ok(match &self.url {
            Some(url) => builder.connect(url).await?,
            None => {
                let program = std::env::current_exe()?;
                builder.spawn(ServerCommand::new(program)).await?
            }
        })
    }
}
