//! `subscriptions/listen`: the filter of a listener, and the notifications that it receives.
//!
//! A listener receives only changes that it requested and that the server declared. Every message on a listen stream
//! has the id of the listen request, with its original JSON type. Delivery, queues and coalescing belong to higher
//! layers.

mod change;
mod filter;
mod messages;
#[cfg(test)]
mod tests;

pub use change::Change;
pub(crate) use filter::lies_below;
pub use filter::{Filter, LONGEST_FILTER, MAX_FILTER_BYTES, accepted_filter, required_extension};
pub use messages::{acknowledgement, stamp, subscription_of, task_notification};
