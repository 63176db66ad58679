//! A gateway: one server with the tools of two other servers, which run as child processes.
//!
//! Shows `Upstream::source`, `Mount`, and that input requests of an upstream server reach the user in every revision.
//! Run it with `cargo run -p toolwire-examples --example upstreams`, or give that command to an MCP client. It starts the
//! examples `quickstart` and `ask_the_user`, so build them before: `cargo build -p toolwire-examples --examples`.

use std::path::Path;

use toolwire::relay::{Upstream, UpstreamSource};
use toolwire::{Mount, Server, ServerCommand};

/// Returns a server that is the program of another example.
fn upstream(name: &str, program: &Path) -> UpstreamSource {
    let command = ServerCommand::new(program);
    Upstream::new(move |builder| builder.spawn(command.clone()))
        .with_name(name)
        .source()
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    let own_program = std::env::current_exe().unwrap_or_default();
    let program = |example: &str| {
        let name = format!("{example}{}", std::env::consts::EXE_SUFFIX);
        own_program.with_file_name(name)
    };
    let calc = upstream("calc", &program("quickstart"));
    let trains = upstream("trains", &program("ask_the_user"));
    // The server also starts without them: a mounted source connects in the background until it succeeds.
    calc.connect().await?;
    trains.connect().await?;
    Server::new("gateway", "1.0.0")
        .mount_with(Mount::new("calc", calc.clone()))
        .mount_with(Mount::new("trains", trains.clone()).retitle_tool("book", "Book a train"))
        .serve_stdio()
        .await?;
    calc.close().await;
    trains.close().await;
    Ok(())
}
