//! Small runs of the benchmarks: that they pass with our servers, and that they fail with a bad one.

mod comparison;
mod fake_server;
mod http_clients;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod page_faults;
mod streams;
