//! `bench-server` in a build of toolwire that contains HTTP/2 and TLS: `bench-server-http2-tls http2 PORT N` or
//! `bench-server-http2-tls https PORT N CERTIFICATE KEY`.

use std::error::Error;
use std::io::Write as _;

use toolwire::transport::http::{HttpListener, HttpOptions, tls};
use toolwire_bench::bench_server;

const USAGE: &str = "usage: bench-server-http2-tls http2 PORT N | bench-server-http2-tls https PORT N CERTIFICATE KEY";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (port, tools, options) = match arguments.as_slice() {
        // The listener detects the version of HTTP.
        ["http2", port, tools] => (port, tools, HttpOptions::new()),
        ["https", port, tools, certificate, key] => {
            let config = tls::config_from_pem(&std::fs::read(certificate)?, &std::fs::read(key)?)?;
            (port, tools, HttpOptions::new().with_tls(config))
        }
        _ => return Err(USAGE.into()),
    };
    let address = ("127.0.0.1", port.parse()?);
    let listener = HttpListener::bind(bench_server(tools.parse()?), address, options).await?;
    writeln!(std::io::stdout(), "{}", listener.url())?;
    Ok(listener.run().await?)
}
