//! Runs every example like a client: as a process, over pipes, in the newest revision and in 2025-11-25.

#![expect(
    clippy::unwrap_used,
    reason = "tests may panic, also in helper functions"
)]

mod apps;
mod calls;
mod changes;
mod client;
mod client_examples;
#[cfg(unix)]
mod deploy_files;
mod errors;
mod events;
#[cfg(unix)]
mod fleet;
#[cfg(unix)]
mod fleet_files;
mod http;
mod input_requests;
mod jobs;
mod long_work;
mod onboarding;
mod quickstart;
mod readme;
mod skills;
mod tasks;
mod two_processes;

/// The example has its own tests.
#[path = "../../examples/in_process_test.rs"]
#[expect(dead_code, reason = "the tests do not call the example's `main`")]
mod in_process_test;
