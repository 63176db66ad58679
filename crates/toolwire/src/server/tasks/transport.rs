//! The transport of a handler whose request has ended.

use std::sync::Arc;

use toolwire_types::RawJson;

use crate::engine::transport::no_channel;
use crate::engine::{BoxFuture, OutgoingNotification, TokenInfo, TransportContext};
use crate::error::Error;

/// The transport of a task: the caller, and in the core design the channel to its client.
#[derive(Debug)]
pub(crate) struct TaskTransport {
    token: Arc<TokenInfo>,
    uses_tokens: bool,
    channel: Option<Arc<dyn TransportContext>>,
}

impl TaskTransport {
    pub(crate) fn new(
        token: Arc<TokenInfo>,
        uses_tokens: bool,
        channel: Option<Arc<dyn TransportContext>>,
    ) -> Self {
        Self {
            token,
            uses_tokens,
            channel,
        }
    }
}

impl TransportContext for TaskTransport {
    fn notify(&self, notification: OutgoingNotification) {
        if let Some(channel) = &self.channel {
            channel.notify(notification);
        }
    }

    fn request<'a>(
        &'a self,
        method: &'a str,
        _params: RawJson,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin(async move { Err(no_channel(method)) })
    }

    fn can_request(&self) -> bool {
        false
    }

    fn uses_tokens(&self) -> bool {
        self.uses_tokens
    }

    fn auth(&self) -> &TokenInfo {
        &self.token
    }
}
