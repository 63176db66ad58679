//! The API below `ctx.ask`: a tool that returns input requests and its own state.
//!
//! This is for handlers that control each round, such as this game with any number of rounds. The handler runs again
//! with the responses and the state: started by the client since 2026-07-28, and by toolwire for older revisions.
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

/// The state between two rounds. It is sealed: clients can neither read nor change it.
#[derive(Serialize, Deserialize)]
struct Game {
    secret: u32,
    guesses: u32,
}

/// Plays a round of a number guessing game.
#[tool(requires("elicitation"))]
fn guess(ctx: &RequestContext) -> Result<ToolResponse, ToolError> {
    let Some(response) = ctx.input_response_as::<ElicitResult>("guess")? else {
        let now = SystemTime::UNIX_EPOCH.elapsed()?;
        let secret = now.subsec_micros() % 100 + 1;
        return ask("I think of a number.", Game { secret, guesses: 1 });
    };
    // If the user declined or cancelled, there is no number.
    let Some(Guess { number }) = response.content_as()? else {
        return Ok(CallToolResult::text("The game is over.").into());
    };
    let mut game = ctx
        .request_state_as::<Option<Game>>()?
        .ok_or_else(|| ToolError::failed("the game has not started"))?;
    let guesses = game.guesses;
    game.guesses += 1;
    match number.cmp(&game.secret) {
        Ordering::Less => ask("Too small.", game),
        Ordering::Greater => ask("Too big.", game),
        Ordering::Equal => Ok(CallToolResult::text(format!("{number} in {guesses}!")).into()),
    }
}

fn ask(message: &str, game: Game) -> Result<ToolResponse, ToolError> {
    let form = ElicitRequestFormParams::new(message, Guess::elicit_schema());
    ToolResponse::input_required_with(InputRequests::new().with("guess", form), &game)
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    Server::new("games", "1.0.0")
        .tool(guess)
        .serve_stdio()
        .await
}
