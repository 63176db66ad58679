//! Delivery by `events/stream`.

use std::sync::atomic::Ordering;

use tokio::time::Instant;
use toolwire_proto::events::SILENCE_LIMIT;
use toolwire_proto::sse::Reconnects;
use toolwire_types::events::StreamEventsParams;
use toolwire_types::{Meta, RequestId};

use crate::client::events::delivery::{Dropped, EventDelivery};
use crate::client::events::item::EventItem;
use crate::client::events::routes::{EventRoutes, StreamMessage};
use crate::client::transport::OutgoingRequest;
use crate::error::Error;

/// How one stream ended.
enum StreamEnd {
    /// The subscription ended with it.
    Final(Error),
    /// It was lost or closed, and can be opened again.
    Lost(Error),
}

impl From<Dropped> for StreamEnd {
    fn from(_: Dropped) -> Self {
        Self::Final(Error::closed())
    }
}

/// Opens streams until the subscription ends. Returns the reason.
pub(super) async fn run(delivery: &mut EventDelivery) -> Error {
    let mut reconnects = Reconnects::new(delivery.client.shared.config.limits.reconnects);
    loop {
        let error = match stream_once(delivery, &mut reconnects).await {
            StreamEnd::Final(error) => return error,
            StreamEnd::Lost(error) => error,
        };
        if !delivery.is_open() || delivery.client.session().transport.is_closed() {
            return error;
        }
        match reconnects.next(None) {
            Ok(pause) => tokio::time::sleep(pause).await,
            Err(_) => return error,
        }
    }
}

/// Opens one stream and forwards its messages until it ends.
async fn stream_once(delivery: &mut EventDelivery, reconnects: &mut Reconnects) -> StreamEnd {
    let request = match request(delivery) {
        Ok(request) => request,
        Err(error) => return StreamEnd::Final(error),
    };
    let session = delivery.client.session();
    let (_guard, messages) = EventRoutes::open(&session.incoming.event_streams, &request.id);
    let exchange = session.transport.exchange(&request);
    tokio::pin!(exchange);
    let mut last_heard = Instant::now();
    loop {
        let message = tokio::select! {
            // Messages that arrived before the end are forwarded before the end.
            biased;
            message = messages.next() => message,
            response = &mut exchange => match response {
                Ok(Ok(_)) => return StreamEnd::Lost(Error::protocol("the server closed the event stream")),
                Ok(Err(error)) => return StreamEnd::Final(error.into()),
                Err(error) if error.rpc().is_some() => return StreamEnd::Final(error),
                Err(error) => return StreamEnd::Lost(error),
            },
            () = tokio::time::sleep_until(last_heard + SILENCE_LIMIT) => {
                return StreamEnd::Lost(Error::timeout());
            }
        };
        // Only messages after the first one show that the stream works.
        if !matches!(message, StreamMessage::Active { .. }) {
            reconnects.record_event();
        }
        if let Err(end) = forward(delivery, message).await {
            return end;
        }
        // Counted from here, because forwarding waits for an application that reads slowly.
        last_heard = Instant::now();
    }
}

async fn forward(delivery: &mut EventDelivery, message: StreamMessage) -> Result<(), StreamEnd> {
    match message {
        StreamMessage::Active { cursor, truncated } => {
            // Without a cursor there is no replay: what happened between two streams is lost.
            let is_gap = truncated || (delivery.is_open() && delivery.state.cursor.is_none());
            delivery.set_open();
            delivery.max_age_ms = None;
            let item = is_gap.then_some(EventItem::Gap);
            delivery.forward(item, Some(cursor)).await?;
        }
        StreamMessage::Event(event) => delivery.forward_event(event, None).await?,
        StreamMessage::Heartbeat { cursor } => delivery.forward(None, Some(cursor)).await?,
        StreamMessage::Error(error) => {
            let item = Some(EventItem::Failed(error));
            delivery.forward(item, None).await?;
        }
        StreamMessage::Terminated(error) => return Err(StreamEnd::Final(error.into())),
        // The application reads slowly. What it has not received is requested again.
        StreamMessage::Overflow => {
            return Err(StreamEnd::Lost(Error::limit(
                "the application does not read the event stream",
            )));
        }
    }
    Ok(())
}

fn request(delivery: &EventDelivery) -> Result<OutgoingRequest, Error> {
    let client = &delivery.client;
    let session = client.session();
    let id = RequestId::from(client.shared.next_id.fetch_add(1, Ordering::Relaxed));
    let mut params = StreamEventsParams::new(delivery.state.name.as_str());
    params.arguments = Some(delivery.state.arguments.clone());
    params.cursor.clone_from(&delivery.state.cursor);
    params.max_age_ms = delivery.max_age_ms;
    let params = client.events_params(&params)?;
    let mirrored = client.mirrored_headers("events/stream", params.as_ref())?;
    let sent = session.meta.params(params.as_ref(), &Meta::new());
    let sent = sent.map_err(|error| Error::invalid_request(format!("events/stream: {error}")))?;
    Ok(OutgoingRequest {
        id,
        method: "events/stream".into(),
        params: Some(sent),
        version: session.version(),
        mirrored,
        forwarded: None,
    })
}
