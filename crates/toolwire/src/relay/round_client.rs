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
pub(super) struct Question {
    pub(super) method: String,
    /// `null` if there are none.
    pub(super) params: RawJson,
    pub(super) answer: oneshot::Sender<Result<RawJson, ErrorObject>>,
}

/// Receives the messages of a call, and passes them to the request that the client currently waits for.
#[derive(Debug)]
pub(super) struct RoundClient {
    round: Mutex<Round>,
    /// `None` if the client cannot be asked.
    questions: Option<mpsc::Sender<Question>>,
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

    /// Creates the side of a client whose input requests go to `questions`.
    pub(super) fn with_input(
        client: Arc<dyn TransportContext>,
        questions: mpsc::Sender<Question>,
    ) -> Self {
        Self::new(client, Some(questions))
    }

    fn new(client: Arc<dyn TransportContext>, questions: Option<mpsc::Sender<Question>>) -> Self {
        let round = Round {
            client: Some(client),
            progress: None,
        };
        Self {
            round: Mutex::new(round),
            questions,
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
            let questions = self.questions.as_ref().ok_or_else(|| no_channel(method))?;
            let (answer, answered) = oneshot::channel();
            let question = Question {
                method: method.to_owned(),
                params,
                answer,
            };
            // The call has ended if nobody receives the question.
            questions
                .send(question)
                .await
                .map_err(|_| Error::closed())?;
            let answer = answered.await.map_err(|_| Error::closed())?;
            answer.map_err(Error::from)
        })
    }

    fn can_request(&self) -> bool {
        self.questions.is_some()
    }
}
