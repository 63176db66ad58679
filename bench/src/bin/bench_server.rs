//! A toolwire server that is measured from outside: `bench-server http PORT N` or `bench-server stdio 0 N`.
//! `bench-server http-full-path PORT N` passes all requests to hyper.
//! `bench-server in-process CALLS N` processes the message of its standard input this many times.

use std::error::Error;
use std::hint::black_box;
use std::io::Write;
use std::process::ExitCode;

use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire_bench::bench_server;

const USAGE: &str = "usage: bench-server http PORT N | bench-server http-full-path PORT N | \
                     bench-server stdio 0 N | bench-server in-process CALLS N";

async fn run(mode: &str, number: usize, tools: usize) -> Result<(), Box<dyn Error>> {
    let server = bench_server(tools);
    match mode {
        "http" | "http-full-path" => {
            let address = ("127.0.0.1", u16::try_from(number)?);
            let mut options = HttpOptions::new();
            if mode == "http-full-path" {
                options = options.without_fast_path();
            }
            let listener = HttpListener::bind(server, address, options).await?;
            writeln!(std::io::stdout(), "{}", listener.url())?;
            Ok(listener.run().await?)
        }
        "stdio" => Ok(server.serve_stdio().await?),
        "in-process" => {
            let message = std::io::read_to_string(std::io::stdin())?;
            for _ in 0..number {
                let response = server.handle(message.as_bytes()).await;
                black_box(response.ok_or("the message has no response")?);
            }
            Ok(())
        }
        _ => Err(USAGE.into()),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let parsed = match arguments.as_slice() {
        [mode, number, tools] => number
            .parse()
            .ok()
            .zip(tools.parse().ok())
            .map(|(number, tools)| (mode.as_str(), number, tools)),
        _ => None,
    };
    let Some((mode, number, tools)) = parsed else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let outcome = match runtime {
        Ok(runtime) => runtime
            .block_on(run(mode, number, tools))
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
