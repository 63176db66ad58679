//! Authorization over HTTP: protected servers, clients that log in, the OAuth proxy, and attacks on all of them.

#![expect(deprecated, reason = "deprecated features are tested, too")]

mod attacks;
mod client;
mod proxy;
mod resource;
