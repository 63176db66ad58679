//! An OAuth proxy in front of an identity provider, seen by clients, browsers and attackers from the other end of a socket.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

mod bounds;
mod browser;
mod codes;
mod confused_deputy;
mod consent;
mod documents;
mod filter;
mod fleet;
mod guards;
mod login;
mod own_client;
mod provider;
mod redirects;
mod refreshing;
mod registration;
mod stage;
mod upstream;
