//! The limit of bare hyper and serde_json: parses a request into borrowed structs, checks the modern headers, and
//! returns a typed result. The tools are those of [`bench_server`](crate::bench_server()).
//!
//! It is a reference, not a server: it rejects messages that the load does not send, and omits checks that the load
//! always passes. It is part of the library because two programs use it: only one of them contains HTTP/2 and TLS.

mod http;
mod listeners;
mod message;
mod progress;
mod stdio;
mod streams;
mod tools;

pub use self::listeners::{serve_http, serve_http2, serve_https};
pub use self::stdio::{answer_again_and_again, serve as serve_stdio};
