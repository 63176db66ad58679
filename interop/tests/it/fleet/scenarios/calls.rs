//! Small calls of both eras.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::{Duration, sleep};
use toolwire::{Client, ProtocolVersion};
use toolwire_tests::http::session::tool_call;
use toolwire_tests::peer::legacy;

use crate::fleet::executions::{self, Executions};
use crate::fleet::ledger::Failure;
use crate::fleet::node_client::{NodeClient, expect_equal, in_session, is_response, text_of};

/// A client of toolwire behind the balancer.
#[derive(Debug)]
pub(crate) struct Caller {
    client: Client,
    executions: Arc<Executions>,
}

impl Caller {
    /// Connects a client of this revision.
    pub(crate) async fn connect(
        url: &str,
        version: ProtocolVersion,
        executions: &Arc<Executions>,
    ) -> Self {
        let builder = Client::builder("desk", "1.0.0").with_versions([version]);
        let client = builder.connect(url).await;
        Self {
            client: client.expect("the nodes serve clients"),
            executions: Arc::clone(executions),
        }
    }

    /// Calls a tool once. A call of 2026-07-28 needs no engine, so it is not repeated.
    pub(crate) async fn call_once(&self) -> Result<(), Failure> {
        let key = self.executions.next_key("call");
        self.print(&key).await?;
        self.executions.record_success(key);
        Ok(())
    }

    /// Calls a tool, and repeats the call if it was rejected because the engine is away: a busy machine can delay the
    /// engine for longer than the nodes wait for it.
    pub(crate) async fn call(&self) -> Result<(), Failure> {
        let key = self.executions.next_key("call");
        let called = self.print(&key).await;
        match called {
            Err(Failure::Unavailable(reason)) if reason.contains("503") => {
                sleep(Duration::from_secs(1)).await;
                self.print(&key).await?;
            }
            called => called?,
        }
        self.executions.record_success(key);
        Ok(())
    }

    async fn print(&self, key: &str) -> Result<(), Failure> {
        let called = self
            .client
            .call_tool(executions::TOOL, executions::arguments(key))
            .await;
        let result = called.map_err(|error| Failure::Unavailable(format!("{error:?}")))?;
        expect_equal(result.all_text(), "printed".to_owned())
    }
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
        let executions = &self.client.executions;
        let key = executions.next_key("session");
        let call = tool_call(1, executions::TOOL, executions::arguments(&key));
        let node = self.client.next_node();
        let result = self.client.result_of(&node, &in_session(id, &call)).await?;
        expect_equal(text_of(&result), "printed")?;
        executions.record_success(key);
        for (level, is_sent) in [("warning", false), ("critical", true)] {
            let arguments = json!({"level": level, "message": "overheated"});
            let log = in_session(id, &tool_call(1, "log", arguments));
            let node = self.client.next_node();
            let messages = self.client.messages_of(&node, &log).await?;
            if !messages.iter().any(is_response) {
                return Err(Failure::Unavailable("no response".to_owned()));
            }
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
