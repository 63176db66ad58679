//! Small calls of both eras.

use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::{Duration, sleep};
use toolwire::{Client, ProtocolVersion};
use toolwire_tests::http::session::tool_call;
use toolwire_tests::peer::legacy;

use crate::fleet::ledger::Failure;
use crate::fleet::node_client::{NodeClient, expect_equal, in_session};

/// A client of toolwire behind the balancer.
pub(crate) async fn connect(url: &str, version: ProtocolVersion) -> Client {
    let builder = Client::builder("desk", "1.0.0").with_versions([version]);
    let client = builder.connect(url).await;
    client.expect("the nodes serve clients")
}

/// Calls a tool through the balancer.
pub(crate) async fn call(client: &Client) -> Result<(), Failure> {
    let called = call_once(client).await;
    match called {
        // A busy machine can delay the engine for longer than the nodes wait for it.
        Err(Failure::Unavailable(reason)) if reason.contains("503") => {
            sleep(Duration::from_secs(1)).await;
            call_once(client).await
        }
        called => called,
    }
}

async fn call_once(client: &Client) -> Result<(), Failure> {
    let result = client.call_tool("add", json!({"a": 40, "b": 2})).await;
    let result = result.map_err(|error| Failure::Unavailable(format!("{error:?}")))?;
    expect_equal(result.all_text().contains("42"), true)
}

/// The log level of the session. Messages below it are not sent.
const LOG_LEVEL: &str = "error";

/// A session that has to survive the fault, with its log level.
#[derive(Debug)]
pub(crate) struct LongSession {
    client: NodeClient,
    id: Mutex<String>,
}

impl LongSession {
    /// Opens a session.
    pub(crate) async fn open(client: &NodeClient) -> Result<Self, Failure> {
        Ok(Self {
            client: client.clone(),
            id: Mutex::new(open_session(client).await?),
        })
    }

    /// Sends requests in the session to all nodes. Opens another session if the data of the first was lost.
    pub(crate) async fn call_all_nodes(&self) -> Result<(), Failure> {
        let mut id = self.id.lock().await;
        let called = self.check_session(&id).await;
        if matches!(called, Err(Failure::Lost(_))) {
            *id = open_session(&self.client).await?;
        }
        called
    }

    async fn check_session(&self, id: &str) -> Result<(), Failure> {
        let call = tool_call(1, "add", json!({"a": 40, "b": 2}));
        let node = self.client.next_node();
        let result = self.client.result_of(&node, &in_session(id, &call)).await?;
        expect_equal(&result["structuredContent"]["sum"], &json!(42))?;
        for (level, is_sent) in [("warning", false), ("critical", true)] {
            let arguments = json!({"level": level, "message": "overheated"});
            let log = in_session(id, &tool_call(1, "log", arguments));
            let node = self.client.next_node();
            let messages = self.client.messages_of(&node, &log).await?;
            let logged = |message: &Value| message["method"] == "notifications/message";
            expect_equal(messages.iter().any(logged), is_sent)?;
        }
        Ok(())
    }
}

/// Opens a session with its log level.
async fn open_session(client: &NodeClient) -> Result<String, Failure> {
    let id = client.open_session().await?;
    let set_level = legacy(1, "logging/setLevel", json!({"level": LOG_LEVEL}));
    let node = client.next_node();
    client
        .result_of(&node, &in_session(&id, &set_level))
        .await?;
    Ok(id)
}
