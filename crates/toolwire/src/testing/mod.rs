//! Test support for servers and clients, without ports and child processes.
//!
//! * [`client`] and [`client_with_version`] connect to a server in the same process.
//! * [`assert_text`], [`assert_structured`], [`assert_tool_error`] and [`assert_rpc_error`] check results. A failed
//!   assertion shows the complete result.
//! * [`ScriptedServer`] is the server for a real [`Client`](crate::client::Client), and [`ScriptedClient`] the client
//!   for a real [`Server`](crate::server::Server), message by message.
//! * [`assert_snapshot`] compares everything a server offers with a file that reviewers can read.
//!
//! It requires the feature `testing`. Enable it for your dev-dependency. The functions panic with a reason if a test
//! should fail.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! use serde_json::json;
//! use toolwire::{Server, testing, tool};
//!
//! /// Adds two integers.
//! #[tool]
//! async fn add(a: i64, b: i64) -> i64 { a + b }
//!
//! let server = Server::new("demo", "1.0.0").tool(add);
//! let client = testing::client(&server).await;
//! let sum = client.call_tool("add", json!({"a": 1, "b": 2})).await.unwrap();
//! testing::assert_text(&sum, "3");
//! # }
//! ```

mod assertions;
mod connected;
mod diff;
mod received;
mod scripted_client;
mod scripted_server;
mod snapshot;
mod wire;

pub use assertions::{
    TextResult, assert_rpc_error, assert_structured, assert_text, assert_tool_error,
};
pub use connected::{client, client_with_version};
pub use received::ReceivedMessage;
pub use scripted_client::ScriptedClient;
pub use scripted_server::ScriptedServer;
pub use snapshot::{UPDATE_SNAPSHOTS, assert_snapshot, snapshot};
