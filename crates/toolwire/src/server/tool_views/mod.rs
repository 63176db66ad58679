//! The views of registered tools. Without the feature `apps`, no tool has one.

#[cfg(not(feature = "apps"))]
mod disabled;
#[cfg(feature = "apps")]
mod enabled;
