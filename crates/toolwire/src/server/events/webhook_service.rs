//! The interface between the methods of webhooks and their delivery.

use std::fmt;

use toolwire_types::ErrorObject;
use toolwire_types::events::{
    SubscribeEventsParams, SubscribeEventsResult, UnsubscribeEventsParams,
};

use crate::engine::{BoxFuture, TokenInfo};

/// The subscriptions of clients that receive events at a URL.
pub(crate) trait WebhookService: fmt::Debug + Send + Sync {
    /// Adds or repeats a subscription. The caller may use the event type.
    fn subscribe<'a>(
        &'a self,
        auth: &'a TokenInfo,
        params: SubscribeEventsParams,
    ) -> BoxFuture<'a, Result<SubscribeEventsResult, ErrorObject>>;

    /// Removes a subscription of the caller.
    fn unsubscribe<'a>(
        &'a self,
        auth: &'a TokenInfo,
        params: UnsubscribeEventsParams,
    ) -> BoxFuture<'a, Result<(), ErrorObject>>;
}
