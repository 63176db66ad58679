//! The pieces beneath `ctx.ask`: a tool that returns its questions and a state of its own.
//!
//! For handlers that want to decide each round by themselves, here a game with as many rounds as it takes. It is run
//! again with the answers and the state: by the client from 2026-07-28 on, by toolwire itself on older connections.
//! Run it with `cargo run -p toolwire-examples --example input_required`, or give that command to an MCP client.

use std::cmp::Ordering;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use toolwire::types::{ElicitRequestFormParams, ElicitResult, InputRequests};
use toolwire::{CallToolResult, Elicit, RequestContext, Server, ToolError, ToolResponse, tool};

#[derive(Deserialize, Elicit)]
struct Guess {
    #[elicit(minimum = 1, maximum = 100)]
    number: u32,
}

/// What one round hands to the next. Clients carry it sealed: they can neither read nor change it.
#[derive(Serialize, Deserialize)]
struct Game {
    secret: u32,
    guesses: u32,
}

/// Plays a round of guessing a number.
#[tool(requires("elicitation"))]
fn guess(ctx: &RequestContext) -> Result<ToolResponse, ToolError> {
    let Some(answer) = ctx.input_response_as::<ElicitResult>("guess")? else {
        let now = SystemTime::UNIX_EPOCH.elapsed()?;
        let secret = now.subsec_micros() % 100 + 1;
        return ask("I think of a number.", Game { secret, guesses: 1 });
    };
    // Declined or cancelled: there is no number to read.
    let Some(Guess { number }) = answer.content_as()? else {
        return Ok(CallToolResult::text("Another time, then.").into());
    };
    let mut game = ctx
        .request_state_as::<Option<Game>>()?
        .ok_or_else(|| ToolError::failed("there was no question yet"))?;
    let guesses = game.guesses;
    game.guesses += 1;
    match number.cmp(&game.secret) {
        Ordering::Less => ask("Too small.", game),
        Ordering::Greater => ask("Too big.", game),
        Ordering::Equal => Ok(CallToolResult::text(format!("{number} in {guesses}!")).into()),
    }
}

fn ask(question: &str, game: Game) -> Result<ToolResponse, ToolError> {
    let form = ElicitRequestFormParams::new(question, Guess::elicit_schema());
    ToolResponse::input_required_with(InputRequests::new().with("guess", form), &game)
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    Server::new("games", "1.0.0")
        .tool(guess)
        .serve_stdio()
        .await
}
