//! Benchmarks of toolwire, each of which loads a server in a separate process.
//!
//! A benchmark is a module ([`comparison`], [`streams`], [`http_clients`], [`tasks`], [`proxies`], `fleet`) with options, a run and a report.
//! They share HTTP/1.1 at the level of bytes, the load, the server's process and its cost, and figures for people. If a
//! server is measured, the load uses bare sockets and not a toolwire client.

mod bench_server;
mod certificate;
pub mod client_load;
pub mod comparison;
mod cores;
mod cost;
pub mod counting;
mod figures;
#[cfg(unix)]
pub mod fleet;
mod http1;
pub mod http_clients;
pub mod limit;
pub mod load;
mod open_files;
mod process;
pub mod proxies;
pub mod streams;
pub mod tasks;

pub use bench_server::bench_server;
pub use certificate::Certificate;
pub use open_files::allow_open_files;
pub use process::ServerProcess;
