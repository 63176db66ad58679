//! Calls that become tasks. Without the feature `tasks`, no call does.

#[cfg(not(feature = "tasks"))]
mod disabled;
#[cfg(feature = "tasks")]
mod enabled;
