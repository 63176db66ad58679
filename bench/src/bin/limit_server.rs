//! The limit without HTTP/2 and TLS: `limit-server http PORT [N]` or `limit-server stdio`. `limit-server in-process
//! CALLS` processes the message of its standard input this many times.

use toolwire_bench::limit;

/// The default number of tools.
const DEFAULT_TOOLS: usize = 3;

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
            limit::serve_http(port, number(2).unwrap_or(DEFAULT_TOOLS)).await
        }
        (Some("stdio"), _) => limit::serve_stdio().await,
        (Some("in-process"), Some(calls)) => limit::answer_again_and_again(calls),
        _ => Err(std::io::Error::other(
            "usage: limit-server http PORT [N] | limit-server stdio | limit-server in-process CALLS",
        )),
    }
}
