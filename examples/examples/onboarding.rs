//! Three consecutive elicitations with a side effect that happens once: one handler for every revision.
//!
//! Up to 2025-11-25, an elicitation is a request to the client, and the handler waits. Since 2026-07-28, the first
//! elicitation without a response ends the handler through `?`. The client calls again with the response, possibly to
//! another process, and the handler runs from the start. The code is the same, and so is what the user sees.
//!
//! Run it with `cargo run -p toolwire-examples --example onboarding -- desks.txt`, or give that command to an MCP
//! client. With an address after the file, `-- desks.txt 127.0.0.1:3000`, it serves HTTP. Processes that share the file
//! and the key in `ONBOARDING_KEY` (64 hexadecimal digits) can serve alternate rounds of one call.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use serde::Deserialize;
use toolwire::ask::ElicitOutcome;
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{Elicit, KeyRing, RequestContext, StateKey, ToolError};

#[derive(Deserialize, Elicit)]
struct Person {
    name: String,
}

#[derive(Deserialize, Elicit)]
struct TeamChoice {
    team: Team,
}

#[derive(Debug, Clone, Copy, Deserialize, Elicit)]
enum Team {
    Design,
    Platform,
}

#[derive(Deserialize, Elicit)]
struct Laptop {
    /// The size of the screen in inches.
    #[elicit(minimum = 13, maximum = 16, default = 14)]
    inches: u8,
}

struct Office {
    /// The file with one line per desk.
    desks: PathBuf,
}

#[toolwire::server(name = "onboarding", version = "1.0.0")]
impl Office {
    /// Finds a desk and a laptop for a new person.
    #[tool]
    async fn welcome(&self, ctx: &RequestContext) -> Result<String, ToolError> {
        let Person { name } = ctx.ask("person", "Who is new?").await?;

        let message = format!("Which team does {name} join?");
        let TeamChoice { team } = ctx.ask("team", message).await?;

        // The handler may run several times, but takes one desk. Later runs get the stored number.
        let taking = async { self.take_desk(&name, team) };
        let desk = ctx.try_once("desk", taking).await?;

        let message = format!("{name} has desk {desk} at {team:?}. Which laptop goes there?");
        let laptop = match ctx.ask("laptop", message).await? {
            ElicitOutcome::Accepted(Laptop { inches }) => format!("a laptop of {inches} inches"),
            ElicitOutcome::Declined | ElicitOutcome::Cancelled => "no laptop".to_owned(),
        };
        Ok(format!(
            "{name} sits at desk {desk} at {team:?}, with {laptop}."
        ))
    }

    /// Adds a line to the file and returns its number.
    fn take_desk(&self, name: &str, team: Team) -> Result<usize, ToolError> {
        let mut open = File::options();
        let mut desks = open
            .create(true)
            .read(true)
            .append(true)
            .open(&self.desks)?;
        // Other calls and other processes wait for the lock.
        desks.lock()?;
        let mut taken = String::new();
        desks.read_to_string(&mut taken)?;
        writeln!(desks, "{name}, {team:?}")?;
        Ok(taken.lines().count() + 1)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let desks = arguments.next().unwrap_or_else(|| "desks.txt".to_owned());
    let address = arguments.next();

    let mut server = Office {
        desks: desks.into(),
    }
    .into_server();
    if let Ok(digits) = std::env::var("ONBOARDING_KEY") {
        let key =
            StateKey::from_hex(&digits).ok_or("ONBOARDING_KEY is not 64 hexadecimal digits")?;
        server = server.with_request_state_keys(KeyRing::new(key));
    }

    let Some(address) = address else {
        return Ok(server.serve_stdio().await?);
    };
    let listener = HttpListener::bind(server, address, HttpOptions::new()).await?;
    eprintln!("listening on {}", listener.url());
    Ok(listener.run().await?)
}
