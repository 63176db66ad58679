//! Notes in a database with full-text search: SQLite, one connection, blocking handlers.
//!
//! The database is the file in `NOTES_FILE`, or it is in memory.
//! Run the server with `cargo run -p toolwire-examples --example sqlite_notes`, and the client with `-- client`. The
//! module `toolwire_examples::job` lists the other arguments.

mod client;
mod server;

use toolwire::transport::http::HttpOptions;
use toolwire_examples::job::{self, Role};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Role::from_command_line() {
        Role::Server(address) => {
            let notes = server::Notes::open(std::env::var_os("NOTES_FILE"))?;
            job::serve(notes.into_server(), address, HttpOptions::new()).await
        }
        Role::Client(choice) => client::run(&choice).await,
    }
}
