//! Constraints and defaults: what `#[arg(…)]` promises is published in the schema and enforced before your code runs.
//!
//! A call that breaks a constraint is answered with an error that names the path of every argument in question, so that
//! a model can correct itself.
//! Run it with `cargo run -p toolwire-examples --example constraints`, or give that command to an MCP client.

use schemars::JsonSchema;
use serde::Deserialize;
use toolwire::{Server, tool};

/// Constants work wherever a number does.
const MOST_SEATS: u32 = 8;

/// Nested values carry their constraints in their own type, written as schemars has them.
#[derive(Deserialize, JsonSchema)]
struct Guest {
    #[schemars(length(min = 1))]
    name: String,
    #[schemars(range(min = 0, max = 130))]
    age: Option<u8>,
}

/// Books a table.
#[tool(strict)]
fn book(
    /// Letters and spaces only.
    #[arg(min_length = 2, max_length = 40, pattern = "^[A-Za-z ]+$")]
    name: &str,
    /// How many people.
    #[arg(default = 2, minimum = 1, maximum = MOST_SEATS)]
    seats: u32,
    /// Which day.
    #[arg(format = "date")]
    day: String,
    /// Who comes, as far as it is known.
    #[arg(default, max_items = 8)]
    guests: Vec<Guest>,
    /// `Option` may be left out, and is `None` then.
    #[arg(name = "specialWish", max_length = 200)]
    special_wish: Option<&str>,
) -> String {
    let named: Vec<String> = guests
        .iter()
        .map(|guest| match guest.age {
            Some(age) => format!("{} ({age})", guest.name),
            None => guest.name.clone(),
        })
        .collect();
    let wish = special_wish.unwrap_or("none");
    format!(
        "{name}: {seats} seats on {day}, guests: [{}], wish: {wish}",
        named.join(", ")
    )
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    Server::new("restaurant", "1.0.0")
        .tool(book)
        .serve_stdio()
        .await
}
