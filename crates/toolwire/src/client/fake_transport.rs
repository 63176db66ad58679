//! A fake transport whose server is a function, for tests of what the client sends and caches.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolwire_proto::envelope::Envelope;
use toolwire_proto::mirrored_headers::MirroredHeader;
use toolwire_proto::negotiate::Channel;
use toolwire_proto::strict_json;
use toolwire_types::{ErrorObject, ProtocolVersion, RawJson};

use crate::client::incoming::IncomingMessages;
use crate::client::send::encode_notification;
use crate::client::transport::{ClientTransport, Connect, OutgoingRequest, ServerResponse};
use crate::client::{Client, ClientBuilder};
use crate::engine::BoxFuture;
use crate::error::Error;
use crate::sync::lock;

/// A request that the client sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SentRequest {
    pub(crate) method: String,
    /// The parameters without `_meta`.
    pub(crate) params: Value,
    pub(crate) mirrored: Vec<MirroredHeader>,
}

type Respond = Box<dyn Fn(&FakeServer, &SentRequest) -> Result<Value, ErrorObject> + Send + Sync>;

/// A server that responds with a function. Clones are the same server.
#[derive(Clone)]
pub(crate) struct FakeServer(Arc<FakeServerState>);

struct FakeServerState {
    name: String,
    respond: Respond,
    sent: Mutex<Vec<SentRequest>>,
    all_incoming: Mutex<Vec<Arc<IncomingMessages>>>,
}

impl FakeServer {
    /// Creates a modern server over HTTP with a name.
    pub(crate) fn new(
        name: &str,
        respond: impl Fn(&Self, &SentRequest) -> Result<Value, ErrorObject> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(FakeServerState {
            name: name.to_owned(),
            respond: Box::new(respond),
            sent: Mutex::default(),
            all_incoming: Mutex::default(),
        }))
    }

    pub(crate) async fn connect(&self, builder: ClientBuilder) -> Client {
        let client = Client::open(builder.config, Box::new(self.clone()))
            .await
            .unwrap();
        self.take_sent();
        client
    }

    /// Returns the requests since the last call of this function.
    pub(crate) fn take_sent(&self) -> Vec<SentRequest> {
        std::mem::take(&mut *lock(&self.0.sent))
    }

    /// Returns the methods of the requests since the last call of this function.
    pub(crate) fn take_methods(&self) -> Vec<String> {
        self.take_sent()
            .into_iter()
            .map(|sent| sent.method)
            .collect()
    }

    /// Sends a notification to every client.
    pub(crate) fn notify(&self, method: &'static str, params: Value) {
        let message = encode_notification(method, Some(params.into()));
        let envelope = strict_json::read(&message, &strict_json::Limits::default()).unwrap();
        let Envelope::Notification(notification) = envelope else {
            panic!("this is a notification");
        };
        let all_incoming = lock(&self.0.all_incoming);
        for incoming in &*all_incoming {
            incoming.on_notification(&notification, None);
        }
    }
}

impl fmt::Debug for FakeServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}

impl Connect for FakeServer {
    fn channel(&self) -> Channel {
        Channel::Http
    }

    fn name(&self) -> String {
        self.0.name.clone()
    }

    fn open(
        &self,
        incoming: Arc<IncomingMessages>,
    ) -> BoxFuture<'_, Result<Arc<dyn ClientTransport>, Error>> {
        lock(&self.0.all_incoming).push(incoming);
        let transport: Arc<dyn ClientTransport> = Arc::new(self.clone());
        Box::pin(async { Ok(transport) })
    }
}

impl ClientTransport for FakeServer {
    fn exchange<'a>(
        &'a self,
        request: &'a OutgoingRequest,
    ) -> BoxFuture<'a, Result<ServerResponse, Error>> {
        let params = request.params.as_ref();
        let mut params = params.map_or(json!({}), |params| params.to_value().unwrap());
        if let Some(members) = params.as_object_mut() {
            members.shift_remove("_meta");
        }
        let sent = SentRequest {
            method: request.method.clone().into_owned(),
            params,
            mirrored: request.mirrored.clone(),
        };
        lock(&self.0.sent).push(sent.clone());
        let response = match &*sent.method {
            "server/discover" => Ok(json!({
                "resultType": "complete",
                "supportedVersions": [ProtocolVersion::LATEST],
                "capabilities": {},
                "ttlMs": 60_000,
            })),
            _ => (self.0.respond)(self, &sent),
        };
        Box::pin(async { Ok(response.map(Into::into)) })
    }

    fn notify(
        &self,
        _method: Cow<'static, str>,
        _params: Option<RawJson>,
    ) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }

    fn set_version(&self, _version: ProtocolVersion) {}

    fn ready(&self) {}

    fn is_closed(&self) -> bool {
        false
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}
