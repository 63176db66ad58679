//! An OAuth proxy in front of an identity provider, tested over sockets by clients, browsers and attackers.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

mod browser;
mod client_id_documents;
mod codes;
mod confused_deputy;
mod consent;
mod fixture;
mod limits;
mod login;
mod nodes;
mod outages;
mod provider;
mod redirects;
mod refresh_tokens;
mod registration;
mod request_checks;
mod toolwire_client;
mod upstream_tokens;
mod user_filter;
