//! Input requests in the middle of a call: all kinds, between all pairs of revisions and transports.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use toolwire::relay::{Relay, Upstream};
use toolwire::transport::Limits;
use toolwire::types::{
    CallToolResult, CreateMessageRequestParams, CreateMessageResult, ElicitResult, Root,
    SamplingMessage, SamplingMessageContentBlock, Tool, ToolUseContent,
};
use toolwire::{
    Client, ClientBuilder, Elicit, Error, ProtocolVersion, RequestContext, Server, ToolHandler,
};
use toolwire_tests::http::endpoint::Endpoint;
use toolwire_tests::http::request::Request;
use toolwire_tests::peer::{modern_with, server, within};

const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
/// A revision without URL elicitation.
const OLDER: ProtocolVersion = ProtocolVersion::V2025_06_18;

const KINDS: [&str; 5] = ["form", "url", "sampling", "sampling with tools", "roots"];

/// The kinds that the older revision lacks.
const NEWER_KINDS: [&str; 2] = ["url", "sampling with tools"];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Transport {
    /// Two streams of bytes with one message per line.
    Stdio,
    Http,
}

const TRANSPORTS: [Transport; 2] = [Transport::Stdio, Transport::Http];

#[derive(Debug, Deserialize, Elicit)]
struct Name {
    name: String,
}

/// The arguments of the tool.
#[derive(Debug, Deserialize)]
struct Arguments {
    kind: String,
    tag: usize,
}

/// Returns a server with a tool that requests input and then has an effect, which is counted.
fn asking_server(version: ProtocolVersion, effects: &Arc<AtomicUsize>) -> Server {
    let effects = Arc::clone(effects);
    let tool = Tool::new("ask", json!({"type": "object"}));
    let tool = ToolHandler::raw(tool, move |ctx: RequestContext, arguments| {
        let effects = Arc::clone(&effects);
        async move {
            let arguments: Arguments = arguments.parse().expect("valid arguments");
            let response = ask(&ctx, &arguments.kind).await?;
            effects.fetch_add(1, Ordering::SeqCst);
            Ok::<_, Error>(format!("{} {response}", arguments.tag))
        }
    });
    server().tool(tool).with_versions([version])
}

async fn ask(ctx: &RequestContext, kind: &str) -> Result<String, Error> {
    Ok(match kind {
        "form" => ctx.ask::<Name>("k", "Who?").await?.name,
        "url" => {
            let outcome = ctx.ask_url("k", "Open this.", "https://example.com/page");
            outcome.await?.is_accepted().to_string()
        }
        "sampling" => {
            let request = CreateMessageRequestParams::new([SamplingMessage::user("hi")], 10);
            ctx.ask_model("k", request).await?.content.text()
        }
        "sampling with tools" => {
            let mut request = CreateMessageRequestParams::new([SamplingMessage::user("hi")], 10);
            request.tools = Some(vec![Tool::new("look_up", json!({"type": "object"}))]);
            let message = ctx.ask_model("k", request).await?;
            let [SamplingMessageContentBlock::ToolUse(call)] = message.content.blocks() else {
                panic!("expected one call of a tool, not {message:?}");
            };
            format!("{} {}", call.name, call.id)
        }
        _ => {
            let roots = ctx.ask_roots("k").await?;
            roots.into_iter().map(|root| root.uri).collect()
        }
    })
}

/// The response that the client of a number gives to input requests of a kind, as the tool reports it.
fn expected(kind: &str, number: usize) -> String {
    let response = match kind {
        "form" => format!("name {number}"),
        "url" => "true".to_owned(),
        "sampling" => format!("text {number}"),
        "sampling with tools" => format!("look_up {number}"),
        _ => format!("file:///{number}"),
    };
    format!("{number} {response}")
}

/// Returns a client that responds to all input requests. Its responses wait until all clients have been asked.
fn responding_client(
    version: ProtocolVersion,
    number: usize,
    asked: &Arc<Barrier>,
) -> ClientBuilder {
    let (of_form, of_sampling) = (Arc::clone(asked), Arc::clone(asked));
    ClientBuilder::new("test", "1")
        .with_versions([version])
        .on_elicitation(move |_| {
            let asked = Arc::clone(&of_form);
            async move {
                asked.wait().await;
                Ok(ElicitResult::accept().with_content([("name", format!("name {number}"))]))
            }
        })
        .on_url_elicitation(|_| async { Ok(ElicitResult::accept()) })
        .on_sampling_with_tools(move |request| {
            let asked = Arc::clone(&of_sampling);
            async move {
                asked.wait().await;
                let block = match request.tools.as_deref() {
                    None => SamplingMessageContentBlock::text(format!("text {number}")),
                    Some([tool]) => {
                        ToolUseContent::new(number.to_string(), &tool.name, json!({})).into()
                    }
                    Some(tools) => panic!("expected one tool, not {tools:?}"),
                };
                Ok(CreateMessageResult::new("model", block))
            }
        })
        .with_roots([Root::new(format!("file:///{number}"))])
}

/// A relay to the asking server.
struct Relayed {
    relay: Relay,
    effects: Arc<AtomicUsize>,
    front: Option<Endpoint>,
    _upstream: Option<Endpoint>,
}

impl Relayed {
    async fn new(
        version: ProtocolVersion,
        upstream_transport: Transport,
        client_transport: Transport,
    ) -> Self {
        let effects = Arc::default();
        let server = asking_server(version, &effects);
        let (upstream, endpoint) = match upstream_transport {
            Transport::Stdio => {
                let connect = move |builder| connect_io(server.clone(), builder);
                (Upstream::new(connect), None)
            }
            Transport::Http => {
                let endpoint = Endpoint::serve(&server).await;
                let address = format!("http://{}/mcp", endpoint.address);
                let connect = move |builder: ClientBuilder| builder.connect(address.clone());
                (Upstream::new(connect), Some(endpoint))
            }
        };
        // One session for each of 64 calls, and the shared one.
        let relay = upstream.with_max_sessions(65).relay();
        let front = match client_transport {
            Transport::Stdio => None,
            Transport::Http => Some(Endpoint::serve(relay.server()).await),
        };
        Self {
            relay,
            effects,
            front,
            _upstream: endpoint,
        }
    }

    async fn connect(&self, client: ClientBuilder) -> Client {
        let client = match &self.front {
            Some(front) => {
                client
                    .connect(format!("http://{}/mcp", front.address))
                    .await
            }
            None => connect_io(self.relay.server().clone(), client).await,
        };
        client.expect("the relay is reachable")
    }

    fn take_effects(&self) -> usize {
        self.effects.swap(0, Ordering::SeqCst)
    }
}

/// Connects a client to a server with two streams of bytes.
async fn connect_io(server: Server, client: ClientBuilder) -> Result<Client, Error> {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(far);
    tokio::spawn(async move { server.serve_io(reader, writer, Limits::default()).await });
    let (reader, writer) = tokio::io::split(near);
    client.connect_io(reader, writer).await
}

fn arguments(kind: &str, tag: usize) -> Value {
    json!({"kind": kind, "tag": tag})
}

fn text_of(result: &CallToolResult) -> &str {
    let text = result.content.first().and_then(|content| content.as_text());
    text.unwrap_or_default()
}

#[tokio::test]
async fn input_of_every_kind_passes_between_all_revisions_and_transports() {
    let versions = [MODERN, LEGACY, OLDER];
    for upstream_version in versions {
        for (upstream_transport, client_transport) in TRANSPORTS
            .iter()
            .flat_map(|one| TRANSPORTS.map(|two| (*one, two)))
        {
            let relayed =
                Relayed::new(upstream_version, upstream_transport, client_transport).await;
            for client_version in versions {
                let are_legacy = client_version != MODERN && upstream_version != MODERN;
                if are_legacy && client_version != upstream_version {
                    // Within this era, the client and the upstream server negotiate the revision.
                    continue;
                }
                let asked = Arc::new(Barrier::new(1));
                let client = responding_client(client_version, 7, &asked);
                let client = relayed.connect(client).await;
                for kind in KINDS {
                    if NEWER_KINDS.contains(&kind)
                        && [client_version, upstream_version].contains(&OLDER)
                    {
                        continue;
                    }
                    let case = format!(
                        "{kind}: {client_version} over {client_transport:?}, {upstream_version} over {upstream_transport:?}"
                    );
                    let call = client.call_tool("ask", arguments(kind, 7));
                    let result = within(async { call.await }).await;
                    let result = result.unwrap_or_else(|error| panic!("{case}: {error}"));
                    assert_eq!(text_of(&result), expected(kind, 7), "{case}");
                    assert_eq!(relayed.take_effects(), 1, "{case}");
                }
                client.close().await;
            }
            relayed.relay.close().await;
        }
    }
}

/// Returns the response to a round of a modern client over HTTP.
async fn round(front: &Endpoint, id: i64, kind: &str, mut params: Value) -> Value {
    params["name"] = "ask".into();
    params["arguments"] = arguments(kind, 1);
    let capabilities = json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}});
    let message = modern_with(id, "tools/call", params, capabilities);
    let response = front.request(&Request::modern(&message)).await;
    response.message()["result"].clone()
}

#[tokio::test]
async fn repeated_rounds_have_one_effect_at_a_legacy_server() {
    for transport in TRANSPORTS {
        let relayed = Relayed::new(LEGACY, transport, Transport::Http).await;
        let front = relayed.front.as_ref().expect("the relay has an address");
        for (kind, response) in [
            (
                "form",
                json!({"action": "accept", "content": {"name": "Ann"}}),
            ),
            ("url", json!({"action": "accept"})),
            (
                "sampling",
                json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "well"}}),
            ),
            ("roots", json!({"roots": [{"uri": "file:///a"}]})),
        ] {
            let required = round(front, 1, kind, json!({})).await;
            let requests = required["inputRequests"].as_object().expect("requests");
            let key = requests.keys().next().expect("one request");
            let retry = json!({
                "requestState": required["requestState"],
                "inputResponses": {key: response},
            });
            // The client repeats the round at the same time, and after its outcome, also with another id.
            let (first, second) = tokio::join!(
                round(front, 2, kind, retry.clone()),
                round(front, 2, kind, retry.clone()),
            );
            let third = round(front, 3, kind, retry.clone()).await;
            let text = first["content"][0]["text"].as_str().unwrap_or_default();
            assert!(text.starts_with("1 "), "{kind} over {transport:?}: {first}");
            assert_eq!(first, second, "{kind} over {transport:?}");
            assert_eq!(first, third, "{kind} over {transport:?}");
            assert_eq!(relayed.take_effects(), 1, "{kind} over {transport:?}");
        }
        relayed.relay.close().await;
    }
}

#[tokio::test]
async fn equal_requests_of_64_clients_get_their_own_input() {
    const CLIENTS: usize = 64;
    for (client_version, upstream_version) in [
        (MODERN, LEGACY),
        (LEGACY, LEGACY),
        (LEGACY, MODERN),
        (MODERN, MODERN),
    ] {
        let relayed = Relayed::new(upstream_version, Transport::Stdio, Transport::Http).await;
        // No client responds before all of them were asked. Their requests have the same ids.
        let asked = Arc::new(Barrier::new(CLIENTS));
        let mut calls = JoinSet::new();
        for number in 0..CLIENTS {
            let client = responding_client(client_version, number, &asked);
            let client = relayed.connect(client).await;
            calls.spawn(async move {
                let kind = if number % 2 == 0 { "form" } else { "sampling" };
                let result = client.call_tool("ask", arguments(kind, number)).await;
                let result = result.unwrap_or_else(|error| panic!("{kind} {number}: {error}"));
                assert_eq!(text_of(&result), expected(kind, number));
                client.close().await;
            });
        }
        while let Some(ended) = within(calls.join_next()).await {
            ended.expect("no call failed");
        }
        assert_eq!(relayed.take_effects(), CLIENTS);
        relayed.relay.close().await;
    }
}
