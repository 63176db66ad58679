//! The server's view of one request: its parameters, its scope, and the state of its rounds.

mod exchange;
#[cfg(feature = "relay")]
mod forwarded;
mod params;
mod progress;
mod round;
mod scope;
#[cfg(feature = "input")]
mod scope_input;
mod task;

pub(crate) use exchange::{Exchange, MethodRoute};
pub(crate) use params::{ParamChange, RequestParams};
pub(crate) use round::RoundState;
#[cfg(feature = "input")]
pub(crate) use round::SingleUseState;
pub use scope::RequestScope;
pub(crate) use task::RequestTask;
#[cfg(feature = "tasks")]
pub(crate) use task::TaskScope;
