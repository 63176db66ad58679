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

/// Serves or uses the server of a job, as the command line asks.
///
/// # Errors
/// Returns an error if the server cannot be created or served, or if the client fails.
pub async fn run(
    server: impl FnOnce() -> Result<Server, Box<dyn Error>>,
    client: impl AsyncFnOnce(&ServerChoice) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    match Role::from_command_line() {
        Role::Server(address) => serve(server()?, address, HttpOptions::new()).await,
        Role::Client(choice) => client(&choice).await,
    }
}

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
    url: Option<String>,
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
        if self.url.is_some() {
            return self.connect_to_url(builder).await;
        }
        // The server is this program, so it may have the whole environment, which contains its settings.
        let command = ServerCommand::new(std::env::current_exe()?).with_inherited_env();
        Ok(builder.with_era(self.era).spawn(command).await?)
    }

    /// Connects to the server of a job that has no stdio.
    ///
    /// # Errors
    /// Returns an error if the command line has no URL, or if the server cannot be reached.
    pub async fn connect_to_url(&self, builder: ClientBuilder) -> Result<Client, Box<dyn Error>> {
        let url = self.url.as_ref().ok_or(
            "this server has only HTTP; start it, and pass its URL: `-- client http://127.0.0.1:3000/mcp`",
        )?;
        Ok(builder.with_era(self.era).connect(url).await?)
    }
}
