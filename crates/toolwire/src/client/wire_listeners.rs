//! Listeners for every message of a client, for example to record a connection.

use std::fmt;
use std::sync::Arc;

use toolwire_types::RequestId;

use crate::client::send::SendMessage;
use crate::engine::BoxFuture;
use crate::error::Error;

/// A message that a client sent or received, as it is on the wire. It may contain secrets.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct WireMessage<'a> {
    /// `true` if the client sent the message, `false` if it received it.
    pub is_sent: bool,
    /// The bytes of the message. Received bytes are not always a valid message.
    pub bytes: &'a [u8],
    /// The request on whose stream a message arrived, if the transport has one stream per request.
    pub stream: Option<&'a RequestId>,
}

type Listener = dyn Fn(WireMessage<'_>) + Send + Sync;

/// The registered listeners, in the order in which they are called.
#[derive(Clone, Default)]
pub(crate) struct WireListeners(Vec<Arc<Listener>>);

impl WireListeners {
    pub(crate) fn add(&mut self, listener: impl Fn(WireMessage<'_>) + Send + Sync + 'static) {
        self.0.push(Arc::new(listener));
    }

    /// Reports a message that is sent.
    pub(crate) fn sent(&self, bytes: &[u8]) {
        self.call(true, bytes, None);
    }

    /// Reports a message that was received. `stream` is the request on whose stream it arrived.
    pub(crate) fn received(&self, bytes: &[u8], stream: Option<&RequestId>) {
        self.call(false, bytes, stream);
    }

    /// Returns a sender that reports its messages to the listeners. Without listeners, returns the sender itself.
    pub(crate) fn around(&self, sender: Arc<dyn SendMessage>) -> Arc<dyn SendMessage> {
        if self.0.is_empty() {
            return sender;
        }
        Arc::new(ListenedSender {
            sender,
            listeners: self.clone(),
        })
    }

    fn call(&self, is_sent: bool, bytes: &[u8], stream: Option<&RequestId>) {
        let message = WireMessage {
            is_sent,
            bytes,
            stream,
        };
        for listener in &self.0 {
            let calling = std::panic::AssertUnwindSafe(|| listener(message));
            if std::panic::catch_unwind(calling).is_err() {
                tracing::error!("a listener for messages panicked");
            }
        }
    }
}

impl fmt::Debug for WireListeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WireListeners").field(&self.0.len()).finish()
    }
}

/// A sender that reports each message before it is sent.
#[derive(Debug)]
struct ListenedSender {
    sender: Arc<dyn SendMessage>,
    listeners: WireListeners,
}

impl SendMessage for ListenedSender {
    fn send(&self, message: Vec<u8>) -> BoxFuture<'static, Result<(), Error>> {
        self.listeners.sent(&message);
        self.sender.send(message)
    }

    fn ends_with_acknowledgement(&self) -> bool {
        self.sender.ends_with_acknowledgement()
    }
}
