//! Webhooks in a client: a service that receives events, and subscriptions that renew themselves.
//!
//! `receiver` is the HTTP service. It verifies each request (`incoming`) and queues its event for the subscription with
//! the id of the request (`delivery_queues`, `delivery_queue`). `subscription` subscribes at a server, and `renewal`
//! repeats that before it expires.

mod delivery_queue;
mod delivery_queues;
mod incoming;
mod receiver;
mod renewal;
mod subscription;

pub use delivery_queue::{WebhookEvent, WebhookItem};
pub use receiver::WebhookReceiver;
pub use subscription::WebhookSubscription;

#[cfg(test)]
mod tests;
