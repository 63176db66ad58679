//! The client's side of a call to a legacy upstream server, over several requests of a modern client.

use std::sync::{Arc, Mutex};

use tokio::sync::{mpsc, oneshot};
use toolwire_proto::outbox::OutgoingKind;
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::transport::no_channel;
use crate::engine::{BoxFuture, OutgoingNotification, TransportContext};
use crate::error::Error;
use crate::sync::lock;

/// A request of the upstream server in the middle of a call.
#[derive(Debug)]
pub(super) struct PendingInput {
    pub(super) method: String,
    /// `null` without parameters.
    pub(super) params: RawJson,
    pub(super) response: oneshot::Sender<Result<RawJson, ErrorObject>>,
}

/// Receives the messages of a call, and passes them to the request that the client currently waits for.
#[derive(Debug)]
pub(super) struct RoundClient {
    round: Mutex<Round>,
    /// `None` if the client cannot be asked.
    inputs: Option<mpsc::Sender<PendingInput>>,
}

#[derive(Debug, Default)]
struct Round {
    /// `None` while the call is parked.
    client: Option<Arc<dyn TransportContext>>,
    /// The newest progress since the call was parked.
    progress: Option<OutgoingNotification>,
}

impl RoundClient {
    /// Creates the side of a client that cannot be asked.
    pub(super) fn without_input(client: Arc<dyn TransportContext>) -> Self {
        Self::new(client, None)
    }

    /// Creates the side of a client whose input requests go to `inputs`.
    pub(super) fn with_input(
        client: Arc<dyn TransportContext>,
        inputs: mpsc::Sender<PendingInput>,
    ) -> Self {
        Self::new(client, Some(inputs))
    }

    fn new(client: Arc<dyn TransportContext>, inputs: Option<mpsc::Sender<PendingInput>>) -> Self {
        let round = Round {
            client: Some(client),
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

    /// Starts the next round.
    pub(super) fn resume(&self, client: Arc<dyn TransportContext>) {
        let mut round = lock(&self.round);
        if let Some(progress) = round.progress.take() {
            client.notify(progress);
        }
        round.client = Some(client);
    }
}

impl TransportContext for RoundClient {
    fn notify(&self, notification: OutgoingNotification) {
        let mut round = lock(&self.round);
        match &round.client {
            Some(client) => client.notify(notification),
            None if matches!(notification.kind, OutgoingKind::Progress(_)) => {
                round.progress = Some(notification);
            }
            None => {}
        }
    }

    fn request<'a>(
        &'a self,
        method: &'a str,
        params: RawJson,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin(async move {
            let inputs = self.inputs.as_ref().ok_or_else(|| no_channel(method))?;
            let (response, received) = oneshot::channel();
            let input = PendingInput {
                method: method.to_owned(),
                params,
                response,
            };
            // Without a receiver, the call has ended.
            inputs.send(input).await.map_err(|_| Error::closed())?;
            let response = received.await.map_err(|_| Error::closed())?;
            response.map_err(Error::from)
        })
    }

    fn can_request(&self) -> bool {
        self.inputs.is_some()
    }
}
