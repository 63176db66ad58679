//! Events of a server: lists, polls, and subscriptions that use the best way of delivery.
//!
//! A subscription is a task (`task`) that opens a stream (`push`), or polls (`poll`) if the server has no streams for the
//! type. The task keeps the cursor, ignores events that it has seen, and continues after a lost stream. A further way of
//! delivery is another function beside `push::run` and `poll::run`, which `SubscriptionTask::run` selects.

mod methods;
mod poll;
mod push;
pub(crate) mod routes;
mod state;
mod subscribe;
mod subscription;
mod task;

pub use state::EventSubscriptionState;
pub use subscribe::SubscribeEvents;
pub use subscription::{EventItem, EventSubscription};
