//! Webhooks from end to end: a server, its client and a receiver, over sockets.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use toolwire::events::{
    DeliveryMode, Emitter, Event, EventItem, EventSubscription, NoArguments, WebhookItem,
    WebhookOptions, WebhookReceiver,
};
use toolwire::transport::http::HttpOptions;
use toolwire::transport::http_client::GuardedFetcher;
use toolwire::{Client, JsonSchema, Server};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::named_users::NamedUsers;
use toolwire_tests::peer::within;
use tower_service::Service as _;

/// A mail arrived.
#[derive(Serialize, JsonSchema)]
struct Mail {
    number: u32,
}

/// A server with webhooks, and its events.
async fn endpoint() -> (Endpoint, Emitter<NoArguments, Mail>) {
    let mails = Emitter::new();
    let fetcher = GuardedFetcher::with_loopback_allowed();
    let server = Server::new("mails", "1.0.0")
        .event("mail.received", mails.clone())
        .with_webhooks(WebhookOptions::new().with_fetcher(fetcher));
    let options = HttpOptions::new().with_authorizer(NamedUsers);
    (Endpoint::serve_with(&server, options).await, mails)
}

async fn client(address: SocketAddr, user: &str) -> Client {
    let builder = Client::builder("app", "1.0.0")
        .with_bearer_token(user)
        .unwrap();
    let url = format!("http://{address}/mcp");
    within(builder.connect(url)).await.unwrap()
}

/// Starts a receiver on this machine.
async fn receiver() -> WebhookReceiver {
    observed_receiver().await.0
}

/// Starts a receiver on this machine. The channel gets an item when the receiver has processed a request as far as it can
/// without the application.
async fn observed_receiver() -> (WebhookReceiver, mpsc::UnboundedReceiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let receiver = WebhookReceiver::new(format!("http://{address}/hooks"));
    let (processed, observer) = mpsc::unbounded_channel();
    let service = receiver.clone();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (service, processed) = (service.clone(), processed.clone());
            let service =
                service_fn(move |request| receive(service.clone(), request, processed.clone()));
            let http = hyper::server::conn::http1::Builder::new();
            tokio::spawn(http.serve_connection(TokioIo::new(socket), service));
        }
    });
    (receiver, observer)
}

async fn receive(
    mut receiver: WebhookReceiver,
    request: Request<Incoming>,
    processed: mpsc::UnboundedSender<()>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    // The body is complete, so the receiver waits only for the application.
    let body = body.collect().await.unwrap().to_bytes();
    let mut response = receiver.call(Request::from_parts(head, Full::new(body)));
    let early = tokio::select! {
        biased;
        response = &mut response => Some(response),
        () = std::future::ready(()) => None,
    };
    let _ = processed.send(());
    match early {
        Some(response) => response,
        None => response.await,
    }
}

#[tokio::test]
async fn events_arrive_at_the_receiver_of_the_subscriber() {
    let (endpoint, mails) = endpoint().await;
    let (ann, bob) = (
        client(endpoint.address, "ann").await,
        client(endpoint.address, "bob").await,
    );
    let receiver = receiver().await;
    let subscribing = receiver.subscribe(&ann, "mail.received", json!({}));
    let mut subscription = within(subscribing).await.unwrap();
    for number in 1..=3 {
        let event = Event::new(Mail { number }).with_id(format!("mail-{number}"));
        mails.emit(event).unwrap();
    }
    for number in 1..=3 {
        match within(subscription.next()).await {
            Some(WebhookItem::Event(event)) => {
                let event = event.accept();
                assert_eq!(event.event_id, format!("mail-{number}"));
                assert_eq!(event.data.get(), format!(r#"{{"number":{number}}}"#));
            }
            other => panic!("{other:?}"),
        }
    }
    // The subscription of one user is unknown to others.
    let url = json!({"name": "mail.received", "delivery": {"url": "http://127.0.0.1:1/hooks"}});
    let foreign = within(bob.request("events/unsubscribe", url).into_future()).await;
    assert_eq!(foreign.unwrap_err().rpc().unwrap().code, -32023);
    within(subscription.unsubscribe()).await.unwrap();
}

/// Returns the number of the next mail.
async fn next_mail(subscription: &mut EventSubscription) -> String {
    match within(subscription.next()).await.unwrap() {
        Some(EventItem::Event(event)) => event.event_id,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn subscription_prefers_a_receiver_and_continues_without_it() {
    let (endpoint, mails) = endpoint().await;
    let ann = client(endpoint.address, "ann").await;
    let receiver = receiver().await;
    let subscribing = ann
        .subscribe_events("mail.received", json!({}))
        .with_receiver(&receiver);
    let mut subscription = within(subscribing.into_future()).await.unwrap();
    let emit = |number: u32| {
        let event = Event::new(Mail { number }).with_id(format!("mail-{number}"));
        mails.emit(event).unwrap();
    };
    emit(1);
    emit(2);
    assert_eq!(next_mail(&mut subscription).await, "mail-1");
    assert_eq!(next_mail(&mut subscription).await, "mail-2");
    let state = subscription.state();
    drop(subscription);

    // The server cannot reach this receiver, so events arrive on a stream, and none is repeated.
    emit(3);
    let unreachable = WebhookReceiver::new("http://127.0.0.1:1/hooks");
    let resuming = ann.resume_events(state).with_receiver(&unreachable);
    let mut subscription = within(resuming.into_future()).await.unwrap();
    assert_eq!(next_mail(&mut subscription).await, "mail-3");

    let only_webhooks = ann
        .subscribe_events("mail.received", json!({}))
        .with_mode(DeliveryMode::Webhook);
    let missing = within(only_webhooks.into_future()).await.unwrap_err();
    assert!(missing.to_string().contains("with_receiver"), "{missing}");
}

#[tokio::test]
async fn event_that_the_application_does_not_take_is_not_accepted() {
    let (endpoint, mails) = endpoint().await;
    let ann = client(endpoint.address, "ann").await;
    let (receiver, mut processed) = observed_receiver().await;
    let subscribe = async || {
        let subscribing = ann
            .subscribe_events("mail.received", json!({}))
            .with_receiver(&receiver);
        within(subscribing.into_future()).await.unwrap()
    };
    let subscription = subscribe().await;
    mails
        .emit(Event::new(Mail { number: 1 }).with_id("mail-1"))
        .unwrap();
    // The challenge and the event.
    for _ in 0..2 {
        within(processed.recv()).await.unwrap();
    }
    drop(subscription);
    // The subscription of the same receiver continues, and the event is sent again.
    let mut subscription = subscribe().await;
    assert_eq!(next_mail(&mut subscription).await, "mail-1");
}

#[tokio::test]
async fn subscription_with_the_same_key_replaces_the_first_one() {
    let (endpoint, mails) = endpoint().await;
    let ann = client(endpoint.address, "ann").await;
    let receiver = receiver().await;
    let subscribe = || within(receiver.subscribe(&ann, "mail.received", json!({})));
    let mut first = subscribe().await.unwrap();
    let mut second = subscribe().await.unwrap();
    assert_eq!(first.id(), second.id());
    assert!(within(first.next()).await.is_none());
    // The end of the first one does not affect the second one.
    within(first.unsubscribe()).await.unwrap();
    mails.emit(Mail { number: 1 }).unwrap();
    match within(second.next()).await {
        Some(WebhookItem::Event(event)) => assert_eq!(event.accept().data.get(), r#"{"number":1}"#),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn end_of_the_event_type_ends_the_subscription() {
    let (endpoint, _mails) = endpoint().await;
    let ann = client(endpoint.address, "ann").await;
    let receiver = receiver().await;
    let subscribing = receiver.subscribe(&ann, "mail.received", json!({}));
    let mut subscription = within(subscribing).await.unwrap();
    assert!(endpoint.server.remove_event("mail.received"));
    match within(subscription.next()).await {
        Some(WebhookItem::Ended(error)) => assert_eq!(error.code, -32023),
        other => panic!("{other:?}"),
    }
    assert!(within(subscription.next()).await.is_none());
}

#[tokio::test]
async fn receiver_of_another_client_fails_the_challenge() {
    let (endpoint, _mails) = endpoint().await;
    let ann = client(endpoint.address, "ann").await;
    let victim = receiver().await;
    // The victim runs at its URL, but this subscription is not its own.
    let secret = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let subscription = within(victim.subscribe(&ann, "mail.received", json!({})))
        .await
        .unwrap();
    let delivery = json!({"mode": "webhook", "url": victim.url(), "secret": secret});
    let bob = client(endpoint.address, "bob").await;
    let params = json!({"name": "mail.received", "delivery": delivery});
    let error = within(bob.request("events/subscribe", params).into_future())
        .await
        .unwrap_err();
    let error = error.rpc().unwrap();
    assert_eq!(error.code, -32027);
    assert_eq!(
        error.data.as_ref().unwrap().to_value().unwrap(),
        json!({"reason": "http_5xx"})
    );
    drop(subscription);
}

#[tokio::test]
async fn client_does_not_subscribe_at_a_server_without_events() {
    let server = Server::new("plain", "1.0.0");
    let client = Client::in_process(&server).await.unwrap();
    let receiver = WebhookReceiver::new("https://app.example/hooks");
    let error = within(receiver.subscribe(&client, "mail.received", json!({}))).await;
    assert!(error.unwrap_err().is_invalid_request());
}
