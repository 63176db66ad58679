//! Heavy work in other processes: the server only stores tasks in a directory, and workers take them from there.
//!
//! The directory is the one in `TASK_DIRECTORY`, or `tasks` in the current directory. Start a worker with
//! `cargo run -p toolwire-examples --example task_workers -- worker`, as many as you like. A worker that is lost is replaced
//! by another. The same command without `worker` runs the server, and with `client` the client. The module
//! `toolwire_examples::job` lists the other arguments.

mod client;
mod server;

use toolwire::tasks::TaskWorkerOptions;
use toolwire::transport::http::HttpOptions;
use toolwire_examples::job::{self, Role};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    match Role::from_command_line() {
        Role::Server(Some(word)) if word == "worker" => {
            let server = server::server()?;
            Ok(server.serve_tasks(TaskWorkerOptions::new()).await?)
        }
        Role::Server(address) => job::serve(server::server()?, address, HttpOptions::new()).await,
        Role::Client(choice) => client::run(&choice).await,
    }
}
