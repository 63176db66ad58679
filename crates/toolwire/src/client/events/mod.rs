//! Events of a server: lists, polls, and subscriptions that use the best way of delivery.
//!
//! A subscription is a task (`mode`) that opens a stream (`push`), or polls (`poll`) if the server has no streams for the
//! type. The task keeps the cursor, ignores events that it has seen, and continues after a lost stream. A further way of
//! delivery is another function beside `push::run` and `poll::run`, which `mode::run` selects.

mod delivery;
mod item;
mod methods;
mod mode;
mod poll;
mod push;
pub(crate) mod routes;
mod state;
mod subscribe;
mod subscription;

pub use item::EventItem;
pub use state::EventSubscriptionState;
pub use subscribe::SubscribeEvents;
pub use subscription::EventSubscription;
