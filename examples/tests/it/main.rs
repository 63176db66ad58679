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

/// The templates of `toolwire new` have their own tests.
#[path = "../../../crates/toolwire-cli/templates/stdio.rs"]
#[expect(dead_code, reason = "the tests do not call the template's `main`")]
mod template_stdio;

/// The template of a server over HTTP.
#[path = "../../../crates/toolwire-cli/templates/http.rs"]
#[expect(dead_code, reason = "the tests do not call the template's `main`")]
mod template_http;

/// The template of a server that requires access tokens.
#[path = "../../../crates/toolwire-cli/templates/auth.rs"]
#[expect(dead_code, reason = "the tests do not call the template's `main`")]
mod template_auth;
