//! A toolwire client that is measured from outside: `bench-client URL CONCURRENCY SECONDS [current|multi]`.
//!
//! It calls `echo` repeatedly in the newest revision, and prints the number of calls and the CPU time. The era of the
//! server is given and not detected, because the limit server responds to calls only.

use std::process::ExitCode;

use serde::Serialize;
use toolwire::Client;
use toolwire_bench::client_load::{Caller, ClientLoad, Failure, TEXT};
use toolwire_proto::negotiate::DetectedEra;
use toolwire_types::ProtocolVersion;

#[derive(Serialize)]
struct Arguments {
    text: &'static str,
}

struct ToolwireCaller(Client);

impl Caller for ToolwireCaller {
    async fn call(&mut self) -> Result<(), Failure> {
        let arguments = Arguments { text: TEXT };
        let result = self.0.call_tool("echo", arguments).await?;
        match result.content.first().and_then(|block| block.as_text()) {
            Some(TEXT) => Ok(()),
            _ => Err("the result is not the text that was sent".into()),
        }
    }
}

async fn run(load: &ClientLoad) -> Result<(), Failure> {
    let newest = DetectedEra::Modern {
        version: ProtocolVersion::LATEST,
    };
    let client = Client::builder("bench", "1.0.0")
        .with_detected_era(newest)
        .connect(&load.url)
        .await?;
    load.run(async || Ok(ToolwireCaller(client.clone()))).await
}

fn main() -> ExitCode {
    ClientLoad::main("bench-client", run)
}
