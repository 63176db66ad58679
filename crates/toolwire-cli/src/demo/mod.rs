//! The bundled server: a little of everything the protocol has, to try clients against.

mod asking;
mod changes;
mod notes;
mod tools;

use toolwire::Server;

/// The server behind `toolwire demo`.
pub(crate) fn server() -> Server {
    let server = Server::new("toolwire-demo", env!("CARGO_PKG_VERSION"))
        .with_title("toolwire demo")
        .with_instructions(
            "A server to try clients against. Nothing it does has an effect on the world.",
        )
        .with_logging()
        .with_resource_subscriptions();
    let server = tools::register(server);
    let server = asking::register(server);
    let server = notes::register(server);
    changes::register(server)
}
