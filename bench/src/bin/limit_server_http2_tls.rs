//! The limit with HTTP/2 or TLS: `limit-server-http2-tls http2 PORT N` or
//! `limit-server-http2-tls https PORT N CERTIFICATE KEY`.

use std::path::Path;

use toolwire_bench::limit;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["http2", port, tools] => limit::serve_http2(number(port)?, number(tools)?).await,
        ["https", port, tools, certificate, key] => {
            let (certificate, key) = (Path::new(certificate), Path::new(key));
            limit::serve_https(number(port)?, number(tools)?, certificate, key).await
        }
        _ => Err(std::io::Error::other(
            "usage: limit-server-http2-tls http2 PORT N | limit-server-http2-tls https PORT N CERTIFICATE KEY",
        )),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> std::io::Result<T> {
    let parsed = text.parse().ok();
    parsed.ok_or_else(|| std::io::Error::other(format!("not a number: `{text}`")))
}
