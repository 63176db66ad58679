//! Attacks, class by class, on everything that is served over HTTP.
//!
//! A class is checked on every row of [`routers::ROUTERS`]: an advisory that is fixed on one way in and forgotten on another
//! is the most common mistake there is. A router that is added later gets all checks by one line in that table.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

mod cancelling;
mod confusion;
mod fetching;
mod foreign_handles;
mod house;
mod injection;
mod names;
mod routers;
mod secrets;
#[cfg(feature = "tls")]
mod tls;
mod ways;
