//! Notes in a database with full-text search: SQLite, one connection, blocking handlers.
//!
//! The database is the file in `NOTES_FILE`, or it is in memory.
//! Run the server with `cargo run -p toolwire-examples --example sqlite_notes`, and the client with `-- client`. The
//! module `toolwire_examples::job` lists the other arguments.

mod client;
mod server;

use toolwire_examples::job;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = || Ok(server::Notes::open(std::env::var_os("NOTES_FILE"))?.into_server());
    job::run(server, client::run).await
}
