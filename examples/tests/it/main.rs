//! Runs every example as a client would: as a process, over pipes, in the newest revision and in 2025-11-25.

#![expect(
    clippy::unwrap_used,
    reason = "a test may panic, also outside its own function"
)]

mod asking;
mod calls;
mod changes;
mod client;
mod clients;
mod failures;
mod fleet;
mod http;
mod long_work;
mod onboarding;
mod quickstart;
mod readme;

/// The example brings its own tests.
#[path = "../../examples/in_process_test.rs"]
#[expect(dead_code, reason = "nobody calls the example's `main` here")]
mod in_process_test;
