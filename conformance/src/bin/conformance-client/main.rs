//! The client the official conformance suite drives: one process per scenario, which it is told in the environment.
//!
//! It is written as any user of toolwire would write it. A scenario decides which calls are made and nothing else; what
//! goes over the wire is the library's business.

mod credentials;
mod login;
mod scenarios;
mod told;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use tokio::time::timeout;
use toolwire::types::{CreateMessageResult, ElicitResult, Root};
use toolwire::{Client, ClientBuilder};

use crate::scenarios::{Problem, play};
use crate::told::Told;

/// Below the 30 seconds after which the suite gives up, so that the reason is written down.
const LONGEST: Duration = Duration::from_secs(25);

/// Plays the scenario that `MCP_CONFORMANCE_SCENARIO` names.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where the server of the scenario listens.
    url: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let running = timeout(LONGEST, run(&arguments.url));
    match running
        .await
        .unwrap_or_else(|_| Err("it takes too long".into()))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            let mut reason = problem.source();
            while let Some(cause) = reason {
                eprintln!("  because {cause}");
                reason = cause.source();
            }
            ExitCode::FAILURE
        }
    }
}

async fn run(url: &str) -> Result<(), Problem> {
    let told = Told::from_environment()?;
    let mut builder = everything().with_versions(told.versions()?);
    if told.scenario.starts_with("auth/") {
        builder = builder.with_oauth(told.context.credentials.oauth(&told.scenario)?);
    }
    let client = builder.connect(url).await?;
    let outcome = play(&client, &told).await;
    client.close().await;
    outcome
}

/// A client that can do all a server may ask for, so that no scenario has to do without.
fn everything() -> ClientBuilder {
    Client::builder("toolwire-conformance", env!("CARGO_PKG_VERSION"))
        .with_roots([Root::new("file:///conformance")])
        .on_sampling(|_| async {
            let answer = "This is a test response.";
            Ok(CreateMessageResult::new("test-model", answer))
        })
        // Nothing is filled in: what has a default gets it from the library.
        .on_elicitation(|_| async { Ok(ElicitResult::accept()) })
}
