//! Structured output: return a type, and clients get its schema, the value, and the value as text.
//!
//! Run it with `cargo run -p toolwire-examples --example structured_output`, or give that command to an MCP client.

use schemars::JsonSchema;
use serde::Serialize;
use toolwire::{CallToolResult, ContentBlock, Server, ToolError, tool};

/// `Serialize` writes the value, `JsonSchema` describes it, and doc comments become descriptions.
#[derive(Serialize, JsonSchema)]
struct Forecast {
    /// The city of the forecast.
    city: String,
    days: Vec<Day>,
}

#[derive(Serialize, JsonSchema)]
struct Day {
    /// Degrees Celsius.
    #[schemars(range(min = -90, max = 60))]
    highest: i32,
    sky: Sky,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Sky {
    Clear,
    Cloudy,
}

/// Returns the weather of the next days.
#[tool(read_only)]
fn forecast(city: String, #[arg(default = 2, maximum = 7)] days: i32) -> Forecast {
    let day = |number: i32| Day {
        highest: 18 + number,
        sky: if number % 2 == 0 {
            Sky::Clear
        } else {
            Sky::Cloudy
        },
    };
    Forecast {
        city,
        days: (0..days).map(day).collect(),
    }
}

/// A list can be structured output, too. Revisions that require an object get only the text.
#[tool(read_only)]
fn cities() -> Vec<&'static str> {
    vec!["Bern", "Oslo"]
}

/// A handler can build the whole result: here text for people and data for programs.
#[tool(read_only)]
fn summary(city: String) -> Result<CallToolResult, ToolError> {
    let forecast = forecast::call(city, 1);
    let prose = format!(
        "{} will have {} degrees.",
        forecast.city, forecast.days[0].highest
    );
    let mut result = CallToolResult::structured(&forecast)?;
    result.content = vec![ContentBlock::text(prose)];
    Ok(result)
}

/// Violates its own schema. The check below returns an error instead of sending an invalid result to clients.
#[tool(read_only)]
fn heat_wave() -> Day {
    Day {
        highest: 100,
        sky: Sky::Clear,
    }
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    Server::new("weather", "1.0.0")
        .with_output_validation()
        .tool(forecast)
        .tool(cities)
        .tool(summary)
        .tool(heat_wave)
        .serve_stdio()
        .await
}
