//! The client for the official conformance suite. Each scenario has its own process and is named by the environment.
//!
//! It is written like any program that uses toolwire. A scenario selects the calls; the library does the rest.

#![expect(deprecated, reason = "the suite also tests deprecated features")]

mod credentials;
mod login;
mod parameters;
mod scenarios;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use tokio::time::timeout;
use toolwire::types::{CreateMessageResult, ElicitResult, Root};
use toolwire::{Client, ClientBuilder};

use crate::parameters::Parameters;
use crate::scenarios::{Problem, run_scenario};

/// Shorter than the timeout of the suite, 30 s, so that the reason is printed.
const SCENARIO_TIMEOUT: Duration = Duration::from_secs(25);

/// Runs the scenario that `MCP_CONFORMANCE_SCENARIO` names.
#[derive(Debug, Parser)]
struct Arguments {
    /// The URL of the scenario's server.
    url: String,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let running = timeout(SCENARIO_TIMEOUT, run(&arguments.url));
    match running
        .await
        .unwrap_or_else(|_| Err("the scenario timed out".into()))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            let mut source = problem.source();
            while let Some(cause) = source {
                eprintln!("  caused by: {cause}");
                source = cause.source();
            }
            ExitCode::FAILURE
        }
    }
}

async fn run(url: &str) -> Result<(), Problem> {
    let parameters = Parameters::from_environment()?;
    let mut builder = client_builder().with_versions(parameters.versions()?);
    if parameters.scenario.starts_with("auth/") {
        builder =
            builder.with_http_layer(parameters.context.credentials.oauth(&parameters.scenario)?);
    }
    let client = builder.connect(url).await?;
    let outcome = run_scenario(&client, &parameters).await;
    client.close().await;
    outcome
}

/// Returns a client with all capabilities that a scenario may need.
fn client_builder() -> ClientBuilder {
    Client::builder("toolwire-conformance", env!("CARGO_PKG_VERSION"))
        .with_roots([Root::new("file:///conformance")])
        .on_sampling(|_| async {
            let text = "This is a test response.";
            Ok(CreateMessageResult::new("test-model", text))
        })
        // The form stays empty: the library fills in the defaults.
        .on_elicitation(|_| async { Ok(ElicitResult::accept()) })
}
