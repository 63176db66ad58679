//! The server: two tools for orders.

use schemars::JsonSchema;
use serde::Serialize;
use toolwire::{Server, ToolError, tool};

#[derive(Serialize, JsonSchema)]
struct Order {
    item: String,
    /// Cents.
    price: u32,
}

/// Finds an order by its number.
#[tool(read_only)]
async fn find_order(number: u32) -> Result<Order, ToolError> {
    match number {
        17 => Ok(Order {
            item: "teapot".to_owned(),
            price: 2_400,
        }),
        // The model sees this text and can try again.
        _ => Err(ToolError::failed(format!(
            "there is no order {number}; orders have two digits"
        ))),
    }
}

/// Converts cents into another currency.
#[tool(read_only)]
async fn convert(
    cents: u32,
    #[arg(pattern = "^[A-Z]{3}$")] currency: String,
) -> Result<String, ToolError> {
    match currency.as_str() {
        "CHF" => Ok(format!("{:.2} CHF", f64::from(cents) * 0.0095)),
        _ => Err(ToolError::failed(format!("no rate for {currency}"))),
    }
}

pub(crate) fn server() -> Server {
    Server::new("orders", "1.0.0")
        .tool(find_order)
        .tool(convert)
}
