//! Releases as servers of `toolwire::Client`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use toolwire::types::ServerCapabilities;
use toolwire::{CallToolResult, Client, Error, ProcessTracker, ServerCommand};
use toolwire_interop::ServerWire::{self, Http, Sse, Stdio};
use toolwire_interop::{Features, RELEASES, ReleaseServer, ToolCall};

use super::{Role, assert_same_roles, release};
use crate::servers::pair::{Failure, Outcome, ensure, equal, text_at, text_of};

/// Longer than a check needs on a busy machine. Most take milliseconds.
const CHECK_TIMEOUT: Duration = Duration::from_secs(30);

async fn check(name: &str, wire: ServerWire, revision: &str) {
    let release = release(name);
    let role = release
        .servers
        .iter()
        .find(|role| role.wire == wire && role.revision == revision)
        .unwrap_or_else(|| panic!("{name} is not listed as a server over {wire:?} in {revision}"));
    let server = release
        .server(role)
        .unwrap_or_else(|problem| panic!("{name} over {wire:?}: {problem}"));
    let connection = Connection::default();
    let mut failed = Vec::new();
    match timeout(connection.open(&server)).await {
        Ok(client) => {
            let features = role.features;
            let peer = Peer {
                client: &client,
                server: &server,
                features,
            };
            let mut note = |check: &str, outcome: Outcome| {
                if let Err(failure) = outcome {
                    failed.push(format!("{check}: {failure}"));
                }
            };
            note("negotiates", peer.negotiates(revision));
            note("lists_tools", timeout(peer.lists_tools()).await);
            note("calls_a_tool", timeout(peer.calls_a_tool()).await);
            note("failing_tool", timeout(peer.failing_tool()).await);
            note("unknown_tool", timeout(peer.unknown_tool()).await);
            note("resources", timeout(peer.resources()).await);
            note("prompts", timeout(peer.prompts()).await);
            note("pings", timeout(peer.pings()).await);
            note("closes", timeout(connection.closes(&client)).await);
        }
        Err(failure) => failed.push(format!("cannot connect: {failure}")),
    }
    assert!(
        failed.is_empty(),
        "{name} {} over {wire:?}:\n{}\nstandard error of the server:\n{}",
        release.version,
        failed.join("\n"),
        connection.stderr(&server).join("\n")
    );
}

async fn timeout<T>(check: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::time::timeout(CHECK_TIMEOUT, check)
        .await
        .unwrap_or_else(|_| Err(Failure::new(format!("timeout after {CHECK_TIMEOUT:?}"))))
}

/// How a client is connected, and what its child process leaves behind.
#[derive(Default)]
struct Connection {
    processes: ProcessTracker,
    stderr: Arc<Mutex<Vec<String>>>,
}

impl Connection {
    /// Connects to a listening server, or starts the server.
    async fn open(&self, server: &ReleaseServer) -> Result<Client, Failure> {
        let builder = Client::builder("toolwire-interop", "1.0.0");
        if let Some(url) = server.url() {
            return Ok(builder.connect(url).await?);
        }
        let (program, arguments) = server.command();
        let lines = Arc::clone(&self.stderr);
        let command = ServerCommand::new(program)
            .args(arguments)
            .with_tracker(&self.processes)
            .on_stderr(move |line| {
                let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
                lines.push(line.to_owned());
            });
        let variables = server.variables().iter();
        let command = variables.fold(command, |command, (name, value)| command.env(name, value));
        Ok(builder.spawn(command).await?)
    }

    /// A closed client leaves no process, and rejects calls.
    async fn closes(&self, client: &Client) -> Outcome {
        client.close().await;
        equal(self.processes.running(), 0)?;
        let Err(error) = client.list_tools().await else {
            return Err(Failure::new("a closed client made a call"));
        };
        equal(error.is_closed(), true)?;
        equal(client.pending_operations(), 0)
    }

    fn stderr(&self, server: &ReleaseServer) -> Vec<String> {
        let lines = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        [server.take_stderr(), lines.clone()].concat()
    }
}

/// The connected client and its server.
struct Peer<'a> {
    client: &'a Client,
    server: &'a ReleaseServer,
    features: &'a Features,
}

impl Peer<'_> {
    fn negotiates(&self, revision: &str) -> Outcome {
        equal(self.client.version().as_str(), revision)?;
        let server = self.client.server();
        let info = server.as_ref().and_then(|server| server.info.as_ref());
        let name = info.map(|info| info.name.as_str());
        equal(name, Some(self.features.server))?;
        ensure(self.offered()?.tools.is_some(), || "no tools".to_owned())
    }

    fn offered(&self) -> Result<ServerCapabilities, Failure> {
        let server = self.client.server();
        let server = server.ok_or_else(|| Failure::new("the server is unknown"))?;
        Ok(server.capabilities.clone())
    }

    async fn lists_tools(&self) -> Outcome {
        let tools = self.client.list_tools().await?;
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let expected = self.features.tool.name;
        ensure(names.contains(&expected), || {
            format!("{expected} is not in {names:?}")
        })
    }

    async fn calls_a_tool(&self) -> Outcome {
        let call = &self.features.tool;
        let result = self.call(call).await?;
        ensure(result.is_error != Some(true), || {
            format!("{}: {}", call.name, text_of(&result))
        })?;
        contains(&text_of(&result), &self.server.fill(call.text))
    }

    async fn failing_tool(&self) -> Outcome {
        let call = &self.features.failing_tool;
        let result = self.call(call).await?;
        equal(result.is_error, Some(true))?;
        contains(&text_of(&result), &self.server.fill(call.text))
    }

    async fn call(&self, call: &ToolCall) -> Result<CallToolResult, Failure> {
        let arguments: Value = serde_json::from_str(&self.server.fill(call.arguments))?;
        Ok(self.client.call_tool(call.name, arguments).await?)
    }

    /// Some servers return a protocol error, others a tool error. The client must report either one.
    async fn unknown_tool(&self) -> Outcome {
        match self.client.call_tool("no-such-tool", json!({})).await {
            Ok(result) => equal(result.is_error, Some(true)),
            Err(error) => rejected(&error),
        }
    }

    async fn resources(&self) -> Outcome {
        let listed = match self.offered()?.resources {
            Some(_) => self.client.list_resources().await?,
            None => Vec::new(),
        };
        let uris: Vec<&str> = listed.iter().map(|entry| entry.uri.as_str()).collect();
        let Some((uri, text)) = self.features.resource else {
            return equal(&uris[..], [""; 0]);
        };
        ensure(uris.contains(&uri), || format!("{uri} is not in {uris:?}"))?;
        contains(&text_at(&self.client.read_resource(uri).await?)?, text)?;
        match self.client.read_resource("demo://nowhere").await {
            Ok(read) => Err(Failure::new(format!("{read:?}"))),
            Err(error) => rejected(&error),
        }
    }

    async fn prompts(&self) -> Outcome {
        let listed = match self.offered()?.prompts {
            Some(_) => self.client.list_prompts().await?,
            None => Vec::new(),
        };
        let names: Vec<&str> = listed.iter().map(|entry| entry.name.as_str()).collect();
        let Some(prompt) = &self.features.prompt else {
            return equal(&names[..], [""; 0]);
        };
        ensure(names.contains(&prompt.name), || {
            format!("{} is not in {names:?}", prompt.name)
        })?;
        let result = self
            .client
            .get_prompt(prompt.name, prompt.arguments)
            .await?;
        let text = result
            .messages
            .first()
            .and_then(|message| message.content.as_text());
        contains(text.unwrap_or_default(), prompt.text)
    }

    async fn pings(&self) -> Outcome {
        Ok(self.client.ping().await?)
    }
}

/// The error is a response of the server, with any code: the servers use different ones.
fn rejected(error: &Error) -> Outcome {
    ensure(error.rpc().is_some(), || format!("{error} is no response"))
}

fn contains(text: &str, part: &str) -> Outcome {
    ensure(text.contains(part), || {
        format!("{part:?} is not in {text:?}")
    })
}

/// One test: the release, the transport, and the negotiated revision.
macro_rules! servers {
    ($($test:ident: $name:literal, $wire:ident, $revision:literal;)*) => {
        const TESTED: &[Role] = &[$(($name, $wire, $revision)),*];

        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                check($name, $wire, $revision).await;
            }
        )*
    };
}

servers! {
    python_sdk_1_0_over_stdio: "Python SDK 1.0", Stdio, "2024-11-05";
    python_sdk_1_0_over_sse: "Python SDK 1.0", Sse, "2024-11-05";
    python_sdk_1_6_over_stdio: "Python SDK 1.6", Stdio, "2024-11-05";
    python_sdk_1_6_over_sse: "Python SDK 1.6", Sse, "2024-11-05";
    python_sdk_1_15_over_stdio: "Python SDK 1.15", Stdio, "2025-06-18";
    python_sdk_1_15_over_http: "Python SDK 1.15", Http, "2025-06-18";
    python_sdk_1_15_over_sse: "Python SDK 1.15", Sse, "2025-06-18";
    python_sdk_1_30_over_stdio: "Python SDK 1.30", Stdio, "2025-11-25";
    python_sdk_1_30_over_http: "Python SDK 1.30", Http, "2025-11-25";
    typescript_sdk_0_6_over_stdio: "TypeScript SDK 0.6", Stdio, "2024-11-05";
    typescript_sdk_0_6_over_sse: "TypeScript SDK 0.6", Sse, "2024-11-05";
    typescript_sdk_1_0_over_stdio: "TypeScript SDK 1.0", Stdio, "2024-11-05";
    typescript_sdk_1_0_over_sse: "TypeScript SDK 1.0", Sse, "2024-11-05";
    typescript_sdk_1_10_over_stdio: "TypeScript SDK 1.10", Stdio, "2024-11-05";
    typescript_sdk_1_10_over_http: "TypeScript SDK 1.10", Http, "2024-11-05";
    typescript_sdk_1_20_over_stdio: "TypeScript SDK 1.20", Stdio, "2025-06-18";
    typescript_sdk_1_20_over_http: "TypeScript SDK 1.20", Http, "2025-06-18";
    fastmcp_2_14_over_stdio: "FastMCP 2.14", Stdio, "2025-11-25";
    fastmcp_2_14_over_http: "FastMCP 2.14", Http, "2025-11-25";
    fastmcp_3_4_over_stdio: "FastMCP 3.4", Stdio, "2025-11-25";
    fastmcp_3_4_over_http: "FastMCP 3.4", Http, "2025-11-25";
    fastmcp_4_1_over_stdio: "FastMCP 4.1", Stdio, "2026-07-28";
    fastmcp_4_1_over_http: "FastMCP 4.1", Http, "2026-07-28";
    rmcp_over_stdio: "rmcp", Stdio, "2026-07-28";
    rmcp_over_http: "rmcp", Http, "2026-07-28";
    mcp_remote_over_stdio: "mcp-remote", Stdio, "2026-07-28";
    supergateway_over_stdio: "supergateway", Stdio, "2025-11-25";
    supergateway_over_http: "supergateway", Http, "2026-07-28";
    supergateway_over_sse: "supergateway", Sse, "2025-11-25";
    filesystem_over_stdio: "filesystem", Stdio, "2025-11-25";
    time_over_stdio: "time", Stdio, "2026-07-28";
    kubernetes_over_stdio: "Kubernetes (Go)", Stdio, "2026-07-28";
    kubernetes_over_http: "Kubernetes (Go)", Http, "2025-11-25";
}

#[test]
fn every_listed_server_has_a_test() {
    let roles = |release: &'static toolwire_interop::Release| {
        let role =
            |role: &'static toolwire_interop::ServerRole| (release.name, role.wire, role.revision);
        release.servers.iter().map(role)
    };
    assert_same_roles(TESTED, RELEASES.iter().flat_map(roles));
}
