//! The HTTP service that receives webhook requests.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use serde::Serialize;
use toolwire_proto::events::webhook::delivery::MAX_BODY_BYTES;
use toolwire_types::RawJson;
use toolwire_types::events::{SubscribeEventsParams, WebhookDelivery};

use crate::client::Client;
use crate::client::arguments::serialize_error;
use crate::client::events::EventSubscriptionState;
use crate::client::webhooks::delivery_queues::DeliveryQueues;
use crate::client::webhooks::incoming::{respond, status};
use crate::client::webhooks::subscription::{self, WebhookSubscription};
use crate::engine::BoxFuture;
use crate::error::Error;

/// A service that receives events of webhook subscriptions. Clones share the subscriptions.
///
/// Mount it at its URL in an HTTP server: it is a `tower` service. It verifies signatures and timestamps, responds to
/// challenges, and recognizes events that are sent again. The extension is a draft.
///
/// ```no_run
/// # async fn receive(client: toolwire::Client) -> Result<(), toolwire::Error> {
/// use serde_json::json;
/// use toolwire::events::{WebhookItem, WebhookReceiver};
///
/// let receiver = WebhookReceiver::new("https://app.example.com/hooks");
/// // Serve a clone of `receiver` at that URL, then subscribe.
/// let mut mails = receiver.subscribe(&client, "mail.received", json!({})).await?;
/// while let Some(item) = mails.next().await {
///     if let WebhookItem::Event(event) = item {
///         let mail = event.accept();
///         println!("{}", mail.data.get());
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct WebhookReceiver {
    url: Arc<str>,
    pub(super) queues: Arc<DeliveryQueues>,
}

impl WebhookReceiver {
    /// Creates a receiver. `url` is the URL at which servers reach it.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into().into(),
            queues: Arc::default(),
        }
    }

    /// Returns the URL at which servers reach the receiver.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Subscribes to a type of events. The subscription is renewed until it is dropped.
    ///
    /// The server sends a challenge during the call, so the receiver must be running. A subscription of the same caller
    /// with the same name and arguments replaces an earlier one of this receiver, which then ends.
    ///
    /// # Errors
    /// Returns an error if the server does not declare the extension, or rejects the subscription.
    pub async fn subscribe(
        &self,
        client: &Client,
        name: impl Into<String>,
        arguments: impl Serialize,
    ) -> Result<WebhookSubscription, Error> {
        let arguments = RawJson::from_serialize(&arguments);
        let arguments = arguments.map_err(|error| serialize_error("the arguments", error))?;
        let delivery = WebhookDelivery::new(&*self.url, "");
        let params = SubscribeEventsParams::new(name, delivery).with_arguments(arguments);
        subscription::subscribe(client, &self.queues, params).await
    }

    /// Continues a subscription at its cursor.
    pub(in crate::client) async fn subscribe_from(
        &self,
        client: &Client,
        state: &EventSubscriptionState,
        max_age_ms: Option<u64>,
    ) -> Result<WebhookSubscription, Error> {
        let delivery = WebhookDelivery::new(&*self.url, "");
        let mut params = SubscribeEventsParams::new(&*state.name, delivery)
            .with_arguments(state.arguments.clone());
        params.cursor.clone_from(&state.cursor);
        params.max_age_ms = max_age_ms;
        subscription::subscribe(client, &self.queues, params).await
    }

    async fn receive<B>(queues: &DeliveryQueues, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        if request.method() != Method::POST {
            return status(StatusCode::METHOD_NOT_ALLOWED);
        }
        let (head, body) = request.into_parts();
        let body = match Limited::new(body, MAX_BODY_BYTES).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return status(StatusCode::PAYLOAD_TOO_LARGE);
            }
            Err(_) => return status(StatusCode::BAD_REQUEST),
        };
        respond(queues, &head.headers, &body).await
    }
}

impl<B> tower_service::Service<Request<B>> for WebhookReceiver
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let queues = Arc::clone(&self.queues);
        Box::pin(async move { Ok(Self::receive(&queues, request).await) })
    }
}
