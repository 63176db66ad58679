//! Webhook delivery over real sockets, to receivers on this machine.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use toolwire_proto::events::webhook::secret::WebhookSecret;
use toolwire_proto::events::webhook::signature::{SignedHeaders, verify};
use toolwire_types::events::{SubscribeEventsParams, WebhookDelivery};
use toolwire_types::{ErrorObject, RawJson};

use super::*;
use crate::engine::{TokenInfo, since_epoch};
use crate::server::events::{Emitter, Event, NoArguments};

#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
struct Mail {
    number: u64,
}

/// A request that a receiver got.
#[derive(Debug)]
struct Received {
    headers: Vec<(String, String)>,
    body: String,
}

impl Received {
    fn header(&self, name: &str) -> &str {
        let header = self.headers.iter().find(|(found, _)| found == name);
        header.map_or("", |(_, value)| value)
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// A receiver on this machine. `respond` returns the whole response to a body.
struct Receiver {
    address: SocketAddr,
    requests: mpsc::UnboundedReceiver<Received>,
}

impl Receiver {
    async fn start(respond: impl Fn(&Value) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let Some(request) = read_request(&mut socket).await else {
                    continue;
                };
                let response = respond(&request.json());
                let _ = sender.send(request);
                let _ = socket.write_all(response.as_bytes()).await;
            }
        });
        Self { address, requests }
    }

    fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    async fn next(&mut self) -> Received {
        self.requests.recv().await.expect("the receiver runs")
    }
}

async fn read_request(socket: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let headers: Vec<(String, String)> = head
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length")?;
    let length: usize = length.1.parse().ok()?;
    while bytes.len() < end + length {
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = String::from_utf8(bytes[end..].to_vec()).ok()?;
    Some(Received { headers, body })
}

/// Responds to challenges, and accepts everything else.
fn accept(body: &Value) -> String {
    let body = match body.get("challenge") {
        Some(challenge) => json!({"challenge": challenge}).to_string(),
        None => String::new(),
    };
    response("200 OK", &body)
}

fn response(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
}

fn secret() -> WebhookSecret {
    WebhookSecret::new([7; 32])
}

struct Fixture {
    server: Server,
    mails: Emitter<NoArguments, Mail>,
}

impl Fixture {
    fn new(options: WebhookOptions) -> Self {
        let mails = Emitter::new();
        let server = Server::new("mails", "1.0.0")
            .event("mail.received", mails.clone())
            .with_webhooks(options);
        Self { server, mails }
    }

    /// Creates a server that reaches receivers on this machine.
    fn local() -> Self {
        let fetcher = GuardedFetcher::with_loopback_allowed();
        Self::new(WebhookOptions::new().with_fetcher(fetcher))
    }

    async fn subscribe(&self, url: &str) -> Result<RawJson, ErrorObject> {
        let delivery = WebhookDelivery::new(url, secret().expose());
        let params = SubscribeEventsParams::new("mail.received", delivery);
        let snapshot = self.server.snapshot();
        let auth = TokenInfo {
            valid: true,
            subject: Some("ann".to_owned()),
            ..TokenInfo::default()
        };
        let webhooks = snapshot.events.webhooks.as_ref().unwrap();
        let result = webhooks.subscribe(&auth, params).await?;
        Ok(RawJson::from_serialize(&result).unwrap())
    }

    fn emit(&self, number: u64) {
        let event = Event::new(Mail { number }).with_id(format!("mail-{number}"));
        self.mails.emit(event).unwrap();
    }
}

fn reason(error: &ErrorObject) -> Value {
    assert_eq!(error.code, -32027, "{error:?}");
    error.data.as_ref().unwrap().to_value().unwrap()["reason"].clone()
}

#[tokio::test]
async fn receiver_gets_signed_events_after_its_challenge() {
    let mut receiver = Receiver::start(accept).await;
    let fixture = Fixture::local();
    let result = fixture.subscribe(&receiver.url()).await.unwrap();
    let id = result.to_value().unwrap()["id"].clone();
    let challenge = receiver.next().await;
    assert_eq!(challenge.json()["type"], "verification");
    fixture.emit(1);
    fixture.emit(2);
    for number in [1, 2] {
        let request = receiver.next().await;
        assert_eq!(request.json()["data"], json!({"number": number}));
        assert_eq!(request.header("webhook-id"), format!("mail-{number}"));
        assert_eq!(request.header("x-mcp-subscription-id"), id);
        assert_eq!(request.header("content-type"), "application/json");
        assert_eq!(request.header("host"), receiver.address.to_string());
        let headers = SignedHeaders {
            id: request.header("webhook-id"),
            timestamp: request.header("webhook-timestamp"),
            signature: request.header("webhook-signature"),
        };
        let secret = secret();
        let verified = verify([&secret], headers, request.body.as_bytes(), since_epoch());
        assert_eq!(verified, Ok(()));
    }
}

#[tokio::test]
async fn default_guard_rejects_this_machine() {
    let fixture = Fixture::new(WebhookOptions::new());
    for url in [
        "https://127.0.0.1:1/hook",
        "https://[::1]:1/",
        "https://10.0.0.1/",
    ] {
        let error = fixture.subscribe(url).await.unwrap_err();
        assert_eq!(reason(&error), "connection_refused", "{url}");
    }
    let error = fixture.subscribe("http://127.0.0.1:1/").await.unwrap_err();
    assert_eq!(error.code, -32602, "{error:?}");
}

#[tokio::test]
async fn endpoint_that_fails_its_challenge_is_rejected() {
    let check = async |respond: fn(&Value) -> String, expected: &str| {
        let receiver = Receiver::start(respond).await;
        let error = Fixture::local()
            .subscribe(&receiver.url())
            .await
            .unwrap_err();
        assert_eq!(reason(&error), expected);
        assert!(!error.message.contains("hook"), "{error:?}");
    };
    check(|_| response("200 OK", "hello"), "challenge_failed").await;
    check(|_| response("404 Not Found", ""), "http_4xx").await;
    check(|_| response("500 Oops", ""), "http_5xx").await;
    check(
        |body| accept(body).replace("200 OK", "302 Found\r\nLocation: /elsewhere"),
        "http_4xx",
    )
    .await;
    check(|_| "not HTTP at all\r\n\r\n".to_owned(), "http_5xx").await;
    // The response is larger than 64 KiB.
    let huge = |_: &Value| response("200 OK", &" ".repeat(MAX_RESPONSE_BYTES + 1));
    check(huge, "http_5xx").await;
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", closed.local_addr().unwrap());
    drop(closed);
    let error = Fixture::local().subscribe(&url).await.unwrap_err();
    assert_eq!(reason(&error), "connection_refused");
}

#[tokio::test]
async fn endpoint_that_does_not_respond_times_out() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let fetcher = GuardedFetcher::with_loopback_allowed().with_timeout(Duration::from_millis(50));
    let request = WebhookRequest {
        url: format!("http://{}/", silent.local_addr().unwrap()),
        headers: Vec::new(),
        body: Bytes::new(),
    };
    let outcome = WebhookSender::send(&fetcher, request).await;
    assert_eq!(outcome.unwrap_err(), CallbackFailure::Timeout);
}

#[tokio::test]
async fn host_that_moves_to_a_private_address_after_its_challenge_gets_nothing() {
    let mut receiver = Receiver::start(accept).await;
    let address = receiver.address;
    let lookups = Arc::new(AtomicUsize::new(0));
    let (looked_up, mut moved) = mpsc::unbounded_channel();
    let counted = Arc::clone(&lookups);
    let http = HyperClient::new()
        .with_public_and_loopback_addresses()
        .with_max_idle_per_host(0)
        .with_scripted_resolver(move |_| {
            let lookup = counted.fetch_add(1, Ordering::SeqCst);
            let _ = looked_up.send(lookup);
            match lookup {
                0 => vec![address],
                _ => vec!["10.0.0.1:80".parse().unwrap()],
            }
        });
    let sender: Arc<dyn WebhookSender> =
        Arc::new(PlainLoopback(GuardedFetcher::with_http_client(http)));
    let mails = Emitter::new();
    let server = Server::new("mails", "1.0.0")
        .event("mail.received", mails.clone())
        .install_webhooks(WebhookOptions::new(), sender);
    let fixture = Fixture { server, mails };
    let url = format!("http://localhost:{}/hook", address.port());
    fixture.subscribe(&url).await.unwrap();
    assert_eq!(receiver.next().await.json()["type"], "verification");
    fixture.emit(1);
    // The second lookup is that of the delivery.
    while moved.recv().await != Some(1) {}
    let repeated = loop {
        let repeated = fixture.subscribe(&url).await.unwrap().to_value().unwrap();
        if repeated["deliveryStatus"]["lastError"] != Value::Null {
            break repeated;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(
        repeated["deliveryStatus"]["lastError"],
        "connection_refused"
    );
    assert!(receiver.requests.try_recv().is_err());
}

/// A sender that accepts URLs on this machine.
#[derive(Debug)]
struct PlainLoopback(GuardedFetcher);

impl WebhookSender for PlainLoopback {
    fn send(
        &self,
        request: WebhookRequest,
    ) -> BoxFuture<'_, Result<WebhookResponse, CallbackFailure>> {
        WebhookSender::send(&self.0, request)
    }

    fn permits_plain_loopback(&self) -> bool {
        true
    }
}
