//! Constraints and defaults: `#[arg(…)]` publishes them in the schema and enforces them before the handler runs.
//!
//! A call that violates a constraint gets an error with the path of every invalid argument, so that a model can correct
//! itself.
//! Run it with `cargo run -p toolwire-examples --example constraints`, or give that command to an MCP client.

use schemars::JsonSchema;
use serde::Deserialize;
use toolwire::{Server, tool};

/// Constants can be used for numbers.
const MAX_SEATS: u32 = 8;

/// Nested values have their constraints in their own type, as schemars attributes.
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
    /// The number of people.
    #[arg(default = 2, minimum = 1, maximum = MAX_SEATS)]
    seats: u32,
    /// The day of the booking.
    #[arg(format = "date")]
    day: String,
    /// The guests, if they are known.
    #[arg(default, max_items = 8)]
    guests: Vec<Guest>,
    /// An `Option` may be missing.
    #[arg(name = "specialRequest", max_length = 200)]
    special_request: Option<&str>,
) -> String {
    let named: Vec<String> = guests
        .iter()
        .map(|guest| match guest.age {
            Some(age) => format!("{} ({age})", guest.name),
            None => guest.name.clone(),
        })
        .collect();
    let request = special_request.unwrap_or("none");
    format!(
        "{name}: {seats} seats on {day}, guests: [{}], request: {request}",
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
