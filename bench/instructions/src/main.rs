//! A small server whose instructions are counted by the test of this package.
//!
//! `counted http` and `counted stdio` serve. `counted handle N` processes the message of its standard input N times in
//! process, and `counted handle-behind M N` does so behind M middleware that do nothing. `counted handle-behind-inactive N`
//! does so behind a middleware that is not active. `counted reference N` reads and writes it N times with serde_json.

use std::error::Error;
use std::io::Write as _;

use toolwire::middleware::{Middleware, Next, Outcome, Request};
use toolwire::transport::http::{HttpListener, HttpOptions};
use toolwire::{BoxFuture, Server, tool};

/// Repeats a text.
#[tool]
fn echo(text: String) -> String {
    text
}

/// A middleware that does nothing.
struct PassOn;

impl Middleware for PassOn {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(next.run(request))
    }
}

/// A middleware that says that it does nothing, as the telemetry without a provider does.
struct Inactive;

impl Middleware for Inactive {
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        PassOn.handle(request, next)
    }

    fn is_active(&self) -> bool {
        false
    }
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
        ["handle", times] => handle(&server, times.parse()?).await,
        ["handle-behind", middleware, times] => {
            let layers = 0..middleware.parse()?;
            let server = layers.fold(server, |server, _: usize| server.with_middleware(PassOn));
            handle(&server, times.parse()?).await
        }
        ["handle-behind-inactive", times] => {
            handle(&server.with_middleware(Inactive), times.parse()?).await
        }
        ["reference", times] => {
            let message = std::io::read_to_string(std::io::stdin())?;
            for _ in 0..times.parse()? {
                let value: serde_json::Value = serde_json::from_str(&message)?;
                std::hint::black_box(value.to_string());
            }
            Ok(())
        }
        _ => Err("usage: counted http | stdio | handle N | handle-behind M N | handle-behind-inactive N | reference N".into()),
    }
}

/// Processes the message of the standard input this many times.
async fn handle(server: &Server, times: usize) -> Result<(), Box<dyn Error>> {
    let message = std::io::read_to_string(std::io::stdin())?;
    for _ in 0..times {
        let response = server.handle(message.as_bytes()).await;
        std::hint::black_box(response.ok_or("there is no response")?);
    }
    Ok(())
}
