//! All kinds of errors, and which side receives them.
//!
//! The model reads tool errors: results with `isError`, from which it can recover. The client program gets protocol
//! errors: the request itself failed. A panic ends one request, never the server.
//! Run it with `cargo run -p toolwire-examples --example errors`, or give that command to an MCP client.

use std::fmt;

use toolwire::{CallToolResult, ContentBlock, ErrorObject, Server, ToolError, prompt, tool};

/// The shortest form: a string is a tool error.
#[tool]
fn sentence() -> Result<String, String> {
    Err("the printer is out of paper".to_owned())
}

/// A custom error type, as a library has it.
#[derive(Debug)]
enum PrintError {
    NoSuchTray(u8),
    Driver(std::io::Error),
}

impl fmt::Display for PrintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchTray(tray) => write!(f, "there is no tray {tray}"),
            Self::Driver(_) => f.write_str("the driver failed"),
        }
    }
}

impl std::error::Error for PrintError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoSuchTray(_) => None,
            Self::Driver(cause) => Some(cause),
        }
    }
}

fn feed(tray: u8) -> Result<(), PrintError> {
    match tray {
        1 => Err(PrintError::Driver(std::io::Error::other("cable unplugged"))),
        2 => Ok(()),
        _ => Err(PrintError::NoSuchTray(tray)),
    }
}

/// Every error type converts with `?`, including its causes. `ToolError` is for handlers with several error types.
#[tool]
fn print(tray: String) -> Result<&'static str, ToolError> {
    let tray: u8 = tray.parse()?;
    feed(tray)?;
    Ok("printed")
}

/// An error with more than text is a result with `isError`.
#[tool]
fn jam() -> CallToolResult {
    CallToolResult::error("paper jam").with_content(ContentBlock::resource_link(
        "printer://manual/jams",
        "How to clear a jam",
    ))
}

/// An `ErrorObject` is a protocol error, not a result. Codes from -32768 to -32000 are reserved for JSON-RPC and MCP,
/// all others are yours.
#[tool]
fn forbidden() -> Result<String, ErrorObject> {
    Err(ErrorObject::new(4001, "this printer is reserved")
        .with_data(serde_json::json!({"until": "noon"})))
}

/// A bug. The request fails, others continue, and clients do not see the panic message.
#[tool]
fn bug() -> String {
    panic!("the secret is 42")
}

/// Prompts and resources have no tool errors: every error is a protocol error.
#[prompt]
fn advice(tray: u8) -> Result<String, PrintError> {
    feed(tray).map(|()| "Suggest a font.".to_owned())
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    Server::new("printer", "1.0.0")
        .tool(sentence)
        .tool(print)
        .tool(jam)
        .tool(forbidden)
        .tool(bug)
        .prompt(advice)
        .serve_stdio()
        .await
}
