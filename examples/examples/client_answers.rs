//! A client that answers: the server in this example asks for a name in the middle of a call, in both eras.
//!
//! Both ends live in this process, so there is nothing to start beside it. The handler is the same whether the question
//! is a request of a legacy server or part of an `input_required` result.
//! Run it with `cargo run -p toolwire-examples --example client_answers`.

use serde::Deserialize;
use toolwire::proto::features::Era;
use toolwire::types::ElicitResult;
use toolwire::{Client, Elicit, Error, RequestContext, Server, tool};

#[derive(Deserialize, Elicit)]
struct Name {
    #[elicit(default = "Ada")]
    name: String,
}

/// Greets whoever is there, after asking for a name.
#[tool]
async fn greet(ctx: &RequestContext) -> Result<String, Error> {
    let Name { name } = ctx.ask("name", "What is your name?").await?;
    Ok(format!("Hello, {name}!"))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let server = Server::new("greeter", "1.0.0").tool(greet);
    for era in [Era::Modern, Era::Legacy] {
        let client = Client::builder("answering-client", "1.0.0")
            .with_era(era)
            .on_elicitation(|form| async move {
                eprintln!("the server asks: {}", form.message);
                // What is left out is filled in with the form's own default.
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
