//! The client's side of a call to a legacy upstream server, over several requests of a modern client.

use std::sync::{Arc, Mutex};

use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use toolwire_proto::outbox::OutgoingKind;
use toolwire_proto::raw_object::RawObject;
use toolwire_types::{ErrorObject, ProgressToken, RawJson};

use crate::engine::transport::no_channel;
use crate::engine::{BoxFuture, OutgoingNotification, TransportContext};
use crate::error::Error;
use crate::relay::parked::{CallInputBytes, InputPermit};
use crate::sync::lock;

/// The maximum bytes of a progress notification that is stored while a call is parked. A larger one is dropped.
const MAX_PROGRESS_BYTES: usize = 64 * 1024;

/// A request of the upstream server in the middle of a call.
#[derive(Debug)]
pub(super) struct PendingInput {
    pub(super) method: String,
    /// `null` without parameters.
    pub(super) params: RawJson,
    pub(super) response: oneshot::Sender<Result<RawJson, ErrorObject>>,
    _permit: InputPermit,
}

/// Receives the messages of a call, and passes them to the request that the client currently waits for.
#[derive(Debug)]
pub(super) struct RoundClient {
    round: Mutex<Round>,
    /// `None` if the client cannot be asked.
    inputs: Option<Inputs>,
}

/// Where the input requests of a call go.
#[derive(Debug)]
struct Inputs {
    sender: mpsc::Sender<PendingInput>,
    bytes: CallInputBytes,
}

#[derive(Debug)]
struct Round {
    /// `None` while the call is parked.
    client: Option<Arc<dyn TransportContext>>,
    token: RoundToken,
    /// The newest progress since the call was parked.
    progress: Option<OutgoingNotification>,
}

/// The progress token of a round.
#[derive(Debug)]
enum RoundToken {
    /// The token of the call's first request, which progress notifications already have.
    First,
    /// The token of a later request. `None` if it has none, so that its client gets no progress.
    Later(Option<ProgressToken>),
}

impl RoundToken {
    /// Returns a progress notification with the token of the round.
    fn apply(&self, mut notification: OutgoingNotification) -> Option<OutgoingNotification> {
        match self {
            Self::First => Some(notification),
            Self::Later(token) => {
                let token = token.as_ref()?;
                notification.message = with_token(&notification.message, token)?;
                notification.kind = OutgoingKind::Progress(token.clone());
                Some(notification)
            }
        }
    }
}

/// Returns the message of a progress notification with another token.
fn with_token(message: &[u8], token: &ProgressToken) -> Option<Vec<u8>> {
    let message: &RawValue = serde_json::from_slice(message).ok()?;
    let mut message = RawObject::parse(message)?;
    let token = RawJson::from_serialize(token).ok()?;
    message.object_mut("params")?.set("progressToken", token);
    Some(message.finish().get().as_bytes().to_vec())
}

impl RoundClient {
    /// Creates the side of a client that cannot be asked.
    pub(super) fn without_input(client: Arc<dyn TransportContext>) -> Self {
        Self::new(client, None)
    }

    /// Creates the side of a client whose input requests go to `inputs`, within a limit on their bytes.
    pub(super) fn with_input(
        client: Arc<dyn TransportContext>,
        inputs: mpsc::Sender<PendingInput>,
        bytes: CallInputBytes,
    ) -> Self {
        let sender = inputs;
        Self::new(client, Some(Inputs { sender, bytes }))
    }

    fn new(client: Arc<dyn TransportContext>, inputs: Option<Inputs>) -> Self {
        let round = Round {
            client: Some(client),
            token: RoundToken::First,
            progress: None,
        };
        Self {
            round: Mutex::new(round),
            inputs,
        }
    }

    /// Ends a round. Until the next one, only the newest progress is stored.
    pub(super) fn park(&self) {
        lock(&self.round).client = None;
    }

    /// Starts the next round, whose request has this progress token.
    pub(super) fn resume(&self, client: Arc<dyn TransportContext>, token: Option<ProgressToken>) {
        let mut round = lock(&self.round);
        round.token = RoundToken::Later(token);
        let stored = round.progress.take();
        if let Some(progress) = stored.and_then(|progress| round.token.apply(progress)) {
            client.notify(progress);
        }
        round.client = Some(client);
    }
}

impl TransportContext for RoundClient {
    fn notify(&self, notification: OutgoingNotification) {
        let mut round = lock(&self.round);
        let is_progress = matches!(notification.kind, OutgoingKind::Progress(_));
        match &round.client {
            Some(client) if is_progress => {
                if let Some(progress) = round.token.apply(notification) {
                    client.notify(progress);
                }
            }
            Some(client) => client.notify(notification),
            None if is_progress && notification.message.len() <= MAX_PROGRESS_BYTES => {
                round.progress = Some(notification);
            }
            None => {}
        }
    }

    fn is_full(&self) -> bool {
        let round = lock(&self.round);
        round.client.as_ref().is_some_and(|client| client.is_full())
    }

    fn report_drop(&self) {
        let client = lock(&self.round).client.clone();
        if let Some(client) = client {
            client.report_drop();
        }
    }

    fn request<'a>(
        &'a self,
        method: &'a str,
        params: RawJson,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin(async move {
            let inputs = self.inputs.as_ref().ok_or_else(|| no_channel(method))?;
            let permit = inputs.bytes.permit(&params)?;
            let (response, received) = oneshot::channel();
            let input = PendingInput {
                method: method.to_owned(),
                params,
                response,
                _permit: permit,
            };
            // Without a receiver, the call has ended.
            inputs
                .sender
                .send(input)
                .await
                .map_err(|_| Error::closed())?;
            let response = received.await.map_err(|_| Error::closed())?;
            response.map_err(Error::from)
        })
    }

    fn release_stream(&self) -> bool {
        let round = lock(&self.round);
        let client = round.client.as_ref();
        client.is_some_and(|client| client.release_stream())
    }

    fn can_request(&self) -> bool {
        self.inputs.is_some()
    }
}
