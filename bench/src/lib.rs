//! Benchmarks of toolwire, each of which loads a server in a process of its own.
//!
//! A benchmark is a module ([`streams`]) with options, a run and a report; what they share lies beside them: HTTP/1.1 at
//! the level of bytes, the server's process, and figures for people. The load is made with bare sockets, so that what is
//! measured is the server and not a client of ours.

mod figures;
mod http1;
mod open_files;
mod process;
pub mod streams;

pub use open_files::allow_open_files;
pub use process::ServerProcess;
