//! A client that responds to an elicitation: the server asks for a name during a call, in both eras.
//!
//! Client and server run in this process. The handler is the same whether the elicitation is a request of a legacy
//! server or part of an `input_required` result.
//! Run it with `cargo run -p toolwire-examples --example client_elicitation`.

use serde::Deserialize;
use toolwire::Era;
use toolwire::types::ElicitResult;
use toolwire::{Client, Elicit, Error, RequestContext, Server, tool};

#[derive(Deserialize, Elicit)]
struct Name {
    #[elicit(default = "Ada")]
    name: String,
}

/// Asks for a name and greets the user.
#[tool]
async fn greet(ctx: &RequestContext) -> Result<String, Error> {
    let Name { name } = ctx.ask("name", "What is your name?").await?;
    Ok(format!("Hello, {name}!"))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let server = Server::new("greeter", "1.0.0").tool(greet);
    for era in [Era::Modern, Era::Legacy] {
        let client = Client::builder("form-client", "1.0.0")
            .with_era(era)
            .on_elicitation(|form| async move {
                eprintln!("the server asks: {}", form.message);
                // The client fills in missing fields with the defaults of the form.
                Ok(ElicitResult::accept())
            })
            .in_process(&server)
            .await?;
        let greeting = client.call_tool("greet", ()).await?;
        let greeting = greeting.content[0].as_text().unwrap_or_default();
        eprintln!("{}: {greeting}", client.version());
        client.close().await;
    }
    Ok(())
}
