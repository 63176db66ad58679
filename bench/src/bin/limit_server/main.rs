//! The limit of bare hyper and serde_json: parses a request into borrowed structs, checks the modern headers, and
//! returns a typed result. `limit-server http PORT [N]` or `limit-server stdio`; the tools are those of `bench-server`.
//! `limit-server in-process CALLS` processes the message of its standard input this many times.
//!
//! It is a reference, not a server: it rejects what the load does not send, and does not check what the load gets
//! right.

mod http;
mod message;
mod progress;
mod stdio;
mod streams;
mod tools;

/// The default number of tools.
const FEWEST_TOOLS: usize = 3;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| {
        arguments
            .get(at)
            .and_then(|number| number.parse::<usize>().ok())
    };
    match (arguments.first().map(String::as_str), number(1)) {
        (Some("http"), Some(port)) => {
            let port = u16::try_from(port).map_err(std::io::Error::other)?;
            http::serve(port, number(2).unwrap_or(FEWEST_TOOLS)).await
        }
        (Some("stdio"), _) => stdio::serve().await,
        (Some("in-process"), Some(calls)) => stdio::answer_again_and_again(calls),
        _ => Err(std::io::Error::other(
            "usage: limit-server http PORT [N] | limit-server stdio | limit-server in-process CALLS",
        )),
    }
}
