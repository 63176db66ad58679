//! A toolwire server to be measured from outside: `bench-server http PORT N` or `bench-server stdio 0 N`.
//!
//! Of its N tools the first is `echo`; from three on there are `big` and `progress`; the rest are there to be many.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use serde::Deserialize;
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{JsonSchema, RequestContext, ServedTool, Server, tool};

/// Repeats a text.
#[tool]
fn echo(text: String) -> String {
    text
}

/// Gives as many bytes as asked for.
#[tool]
fn big(n: usize) -> String {
    "x".repeat(n)
}

/// Reports progress as often as asked for.
#[tool]
fn progress(ctx: &RequestContext, n: u32) -> &'static str {
    for step in 1..=n {
        ctx.report_progress(f64::from(step), Some(f64::from(n)), None);
    }
    "done"
}

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

fn server(tools: usize) -> Server {
    let mut server = Server::new("bench", "1.0.0").tool(echo);
    if tools >= 3 {
        server = server.tool(big).tool(progress);
    }
    let present = if tools >= 3 { 3 } else { 1 };
    for number in present..tools {
        let name = format!("tool_{number:04}");
        let tool = ServedTool::typed(
            name,
            |_: RequestContext, given: Text| async move { given.text },
        );
        server = server.tool(tool.with_description("One of many."));
    }
    server
}

async fn serve(transport: &str, port: u16, tools: usize) -> Result<(), Box<dyn Error>> {
    let server = server(tools);
    if transport == "stdio" {
        return Ok(server.serve_stdio().await?);
    }
    let listener = HttpListener::bind(server, ("127.0.0.1", port), HttpOptions::new()).await?;
    writeln!(std::io::stdout(), "{}", listener.url())?;
    Ok(listener.run().await?)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let parsed = match arguments.as_slice() {
        [transport, port, tools] if matches!(transport.as_str(), "http" | "stdio") => {
            let numbers = (port.parse().ok(), tools.parse().ok());
            numbers
                .0
                .zip(numbers.1)
                .map(|(port, tools)| (transport.as_str(), port, tools))
        }
        _ => None,
    };
    let Some((transport, port, tools)) = parsed else {
        eprintln!("usage: bench-server http PORT N | bench-server stdio 0 N");
        return ExitCode::FAILURE;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let outcome = match runtime {
        Ok(runtime) => runtime
            .block_on(serve(transport, port, tools))
            .map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
