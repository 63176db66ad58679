//! A small server whose instructions are counted by the test of this package.
//!
//! `counted http` and `counted stdio` serve. `counted handle N` processes the message of its standard input N times in
//! process. `counted reference N` reads and writes it N times with serde_json.

use std::error::Error;
use std::io::Write as _;

use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{Server, tool};

/// Repeats a text.
#[tool]
fn echo(text: String) -> String {
    text
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let server = Server::new("counted", "1.0.0").tool(echo);
    match arguments[..] {
        ["http"] => {
            let listener = HttpListener::bind(server, "127.0.0.1:0", HttpOptions::new()).await?;
            writeln!(std::io::stdout(), "{}", listener.url())?;
            Ok(listener.run().await?)
        }
        ["stdio"] => Ok(server.serve_stdio().await?),
        ["handle", times] => {
            let message = std::io::read_to_string(std::io::stdin())?;
            for _ in 0..times.parse()? {
                let response = server.handle(message.as_bytes()).await;
                std::hint::black_box(response.ok_or("there is no response")?);
            }
            Ok(())
        }
        ["reference", times] => {
            let message = std::io::read_to_string(std::io::stdin())?;
            for _ in 0..times.parse()? {
                let value: serde_json::Value = serde_json::from_str(&message)?;
                std::hint::black_box(value.to_string());
            }
            Ok(())
        }
        _ => Err("usage: counted http | stdio | handle N | reference N".into()),
    }
}
