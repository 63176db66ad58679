//! Small runs of the benchmarks: they pass with toolwire servers, and fail with an incorrect server.

mod comparison;
mod fake_server;
#[cfg(all(unix, feature = "fleet"))]
mod fleet;
mod http_clients;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod page_faults;
mod proxies;
mod streams;
#[cfg(feature = "tasks")]
mod tasks;
