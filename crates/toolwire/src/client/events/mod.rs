//! Events of a server: lists, polls, and subscriptions that use the best way of delivery.
//!
//! A subscription is a task (`mode`) that subscribes with a receiver of webhooks (`webhook`), opens a stream (`push`), or
//! polls (`poll`), whichever is the best that the server has for the type. The task keeps the cursor, ignores events that
//! it has seen, and continues after a lost stream.

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
#[cfg(feature = "http-client")]
mod webhook;

pub use item::EventItem;
pub use state::EventSubscriptionState;
pub use subscribe::SubscribeEvents;
pub use subscription::EventSubscription;
