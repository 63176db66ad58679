//! The bundled server, with an example of every protocol feature, for testing clients.

mod changes;
mod elicitation;
mod node;
mod notes;
mod reminders;
mod tasks;
#[cfg(test)]
mod tests;
mod tools;

pub(crate) use node::{join, server_with_keys};
use toolwire::Server;
use toolwire::tasks::Tasks;

/// Returns the server of `toolwire demo`.
pub(crate) fn server() -> Server {
    server_with(Tasks::in_memory())
}

/// Returns the server of `toolwire demo` with tasks of a store.
fn server_with(tasks: Tasks) -> Server {
    let server = Server::new("toolwire-demo", env!("CARGO_PKG_VERSION"))
        .with_title("toolwire demo")
        .with_instructions("A server for testing clients. Its tools change nothing outside of it.")
        .with_logging()
        .with_resource_subscriptions();
    let server = tools::register(server);
    let server = elicitation::register(server);
    let server = notes::register(server);
    let server = reminders::register(server);
    let server = changes::register(server);
    tasks::register(server, tasks)
}
