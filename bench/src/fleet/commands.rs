//! Counts the commands that nodes send to the engine for one operation.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::engine::{Commands, HEARTBEAT, Recording};
use super::node::{Node, Stream, tool_call};
use super::protected_node::ProtectedNode;
use super::step;

/// The time until the last command of an operation is recorded.
const SETTLE_TIME: Duration = Duration::from_millis(100);

/// The commands of one operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OperationCommands {
    /// The operation.
    pub operation: &'static str,
    /// The maximum number of round trips.
    pub goal: f64,
    /// The number of commands. Commands that are sent together share a round trip.
    pub commands: f64,
    /// The commands by name.
    pub by_name: BTreeMap<String, f64>,
}

impl OperationCommands {
    /// Returns `true` if the operation needs no more commands than it may need round trips.
    #[must_use]
    pub fn is_met(&self) -> bool {
        // The commands of an idle fleet are subtracted, which is not exact. One more round trip counts as 1.
        self.commands <= self.goal + 0.5
    }
}

/// Counts commands, without those that an idle fleet sends.
#[derive(Debug)]
pub(super) struct Counter {
    recording: Recording,
    /// The commands of an idle fleet in a second.
    idle: BTreeMap<String, f64>,
    repetitions: u32,
    /// The timeout of one repetition of an operation.
    timeout: Duration,
}

impl Counter {
    /// Records an idle fleet for this time. `timeout` limits one repetition of an operation.
    pub(super) async fn start(
        recording: Recording,
        idle: Duration,
        repetitions: u32,
        timeout: Duration,
    ) -> Self {
        sleep(SETTLE_TIME).await;
        recording.take();
        sleep(idle).await;
        let commands = recording.take().into_iter();
        let rate = |count: usize| count as f64 / idle.as_secs_f64().max(f64::MIN_POSITIVE);
        Self {
            recording,
            idle: commands.map(|(name, count)| (name, rate(count))).collect(),
            repetitions,
            timeout,
        }
    }

    /// Returns the commands of an idle fleet in a second.
    pub(super) fn idle_rate(&self) -> f64 {
        self.idle.values().sum()
    }

    /// Counts all operations between the first two nodes, and those of a node that requires proofs.
    pub(super) async fn count_all(
        &self,
        a: &Node,
        b: &Node,
        protected: &ProtectedNode,
    ) -> io::Result<Vec<OperationCommands>> {
        let mut counted = self.count_modern(a).await?;
        counted.extend(self.count_single_use(a, b, protected).await?);
        counted.extend(self.count_requests(a, b).await?);
        counted.extend(self.count_streams(a, b).await?);
        counted.extend(self.count_messages(a, b).await?);
        Ok(counted)
    }

    async fn count_modern(&self, a: &Node) -> io::Result<Vec<OperationCommands>> {
        let nothing = || vec![(); self.repetitions as usize];
        Ok(vec![
            self.count("modern request", 0.0, nothing(), async |()| {
                a.call("echo", json!({"text": "x"})).await
            })
            .await?,
            self.count("modern listen: open", 0.0, nothing(), async |()| {
                a.listen().await
            })
            .await?,
            self.count("change", 1.0, nothing(), async |()| {
                a.call("change", json!({})).await
            })
            .await?,
        ])
    }

    /// Counts what may be used once: request state, and DPoP proofs.
    async fn count_single_use(
        &self,
        a: &Node,
        b: &Node,
        protected: &ProtectedNode,
    ) -> io::Result<Vec<OperationCommands>> {
        let mut asked = Vec::new();
        for _ in 0..self.repetitions {
            let asking = a.first_round();
            asked.push(step::run("first round of a call", self.timeout, asking).await?);
        }
        let nothing = vec![(); self.repetitions as usize];
        Ok(vec![
            self.count("modern call: second round", 1.0, asked, async |params| {
                b.second_round(params).await
            })
            .await?,
            self.count("modern request with DPoP", 1.0, nothing, async |()| {
                protected.call("echo", json!({"text": "x"})).await
            })
            .await?,
        ])
    }

    async fn count_requests(&self, a: &Node, b: &Node) -> io::Result<Vec<OperationCommands>> {
        let nothing = vec![(); self.repetitions as usize];
        let echo = tool_call(1, "echo", json!({"text": "x"}));
        let set_level = json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "logging/setLevel",
            "params": {"level": "error"},
        });
        Ok(vec![
            self.count("initialize and initialized", 2.0, nothing, async |()| {
                a.open_session().await
            })
            .await?,
            self.count("request", 1.0, self.sessions(a).await?, async |session| {
                b.post(&session, &echo).await
            })
            .await?,
            self.count(
                "logging/setLevel",
                2.0,
                self.sessions(a).await?,
                async |session| b.post(&session, &set_level).await,
            )
            .await?,
            self.count("delete", 3.0, self.sessions(a).await?, async |session| {
                b.delete(&session).await
            })
            .await?,
        ])
    }

    async fn count_streams(&self, a: &Node, b: &Node) -> io::Result<Vec<OperationCommands>> {
        let at_once = tool_call(1, "progress", json!({"n": 3}));
        let in_steps = tool_call(1, "steps", json!({"n": 3}));
        let mut interrupted = Vec::new();
        for session in self.sessions(a).await? {
            let (_, (_, id)) = self.first_message(a, &session, &in_steps).await?;
            interrupted.push((session, id));
        }
        // The calls end without their clients.
        sleep(SETTLE_TIME).await;
        Ok(vec![
            self.count(
                "streamed call, 4 messages at once",
                3.0,
                self.sessions(a).await?,
                async |session| a.post(&session, &at_once).await,
            )
            .await?,
            self.count(
                "streamed call, 4 messages in steps",
                6.0,
                self.sessions(a).await?,
                async |session| a.post(&session, &in_steps).await,
            )
            .await?,
            self.count(
                "GET stream: open",
                2.0,
                self.sessions(a).await?,
                async |session| b.get(&session, None).await,
            )
            .await?,
            self.count(
                "resume on another node",
                2.0,
                interrupted,
                async |(session, id)| b.get(&session, id.as_deref()).await?.finish().await,
            )
            .await?,
        ])
    }

    async fn count_messages(&self, a: &Node, b: &Node) -> io::Result<Vec<OperationCommands>> {
        let ask = tool_call(1, "ask", json!({}));
        let mut asked = Vec::new();
        let question = self
            .count(
                "input request",
                3.0,
                self.sessions(a).await?,
                async |session| {
                    let mut stream = a.stream(&session, &ask).await?;
                    let (request, _) = stream.message().await?;
                    Ok((session, stream, request["id"].clone()))
                },
            )
            .await;
        let question = question?;
        for session in self.sessions(a).await? {
            let (stream, (request, _)) = self.first_message(a, &session, &ask).await?;
            asked.push((session, stream, request["id"].clone()));
        }
        let answer = self
            .count("its response at another node", 3.0, asked, async |asked| {
                respond(b, asked).await
            })
            .await?;
        let mut running = Vec::new();
        for session in self.sessions(a).await? {
            let call = tool_call(1, "wait", json!({}));
            let (stream, _) = self.first_message(a, &session, &call).await?;
            running.push((session, stream));
        }
        let cancel = self
            .count(
                "cancel at another node",
                3.0,
                running,
                async |(session, mut stream)| {
                    let message = json!({
                        "jsonrpc": "2.0",
                        "method": "notifications/cancelled",
                        "params": {"requestId": 1},
                    });
                    b.post(&session, &message).await?;
                    stream.finish().await
                },
            )
            .await?;
        Ok(vec![question, answer, cancel])
    }

    /// Counts the commands of open streams that are idle for this time.
    pub(super) async fn count_idle_streams(
        &self,
        a: &Node,
        idle: Duration,
    ) -> io::Result<OperationCommands> {
        let mut streams = Vec::new();
        for session in self.sessions(a).await? {
            let opening = a.get(&session, None);
            streams.push(step::run("GET stream: idle", self.timeout, opening).await?);
        }
        sleep(SETTLE_TIME).await;
        self.recording.take();
        let start = Instant::now();
        sleep(idle).await;
        let commands = self.recording.take();
        drop(streams);
        Ok(self.operation("GET stream: idle", 0.0, commands, start.elapsed()))
    }

    /// Returns new sessions, one for each repetition.
    async fn sessions(&self, node: &Node) -> io::Result<Vec<String>> {
        let mut sessions = Vec::new();
        for _ in 0..self.repetitions {
            let opening = node.open_session();
            sessions.push(step::run("new session", self.timeout, opening).await?);
        }
        Ok(sessions)
    }

    /// Starts a call with a stream, and waits for its first message.
    async fn first_message(
        &self,
        node: &Node,
        session: &str,
        call: &Value,
    ) -> io::Result<(Stream, (Value, Option<String>))> {
        let starting = async {
            let mut stream = node.stream(session, call).await?;
            let first = stream.message().await?;
            Ok((stream, first))
        };
        step::run("first message of a call", self.timeout, starting).await
    }

    /// Runs an operation once for each value, and counts the commands.
    async fn count<T, R>(
        &self,
        operation: &'static str,
        goal: f64,
        values: Vec<T>,
        run: impl AsyncFn(T) -> io::Result<R>,
    ) -> io::Result<OperationCommands> {
        sleep(SETTLE_TIME).await;
        self.recording.take();
        let start = Instant::now();
        // Streams stay open until all commands are counted.
        let mut results = Vec::new();
        for value in values {
            results.push(step::run(operation, self.timeout, run(value)).await?);
        }
        sleep(SETTLE_TIME).await;
        let commands = self.recording.take();
        drop(results);
        Ok(self.operation(operation, goal, commands, start.elapsed()))
    }

    fn operation(
        &self,
        operation: &'static str,
        goal: f64,
        commands: Commands,
        elapsed: Duration,
    ) -> OperationCommands {
        let each = |name: &str, count: usize| {
            let idle = self.idle.get(name).copied().unwrap_or(0.0) * elapsed.as_secs_f64();
            (count as f64 - idle).max(0.0) / f64::from(self.repetitions)
        };
        let by_name: BTreeMap<String, f64> = commands
            .into_iter()
            .filter(|(name, _)| name != HEARTBEAT)
            .map(|(name, count)| (name.clone(), each(&name, count)))
            .filter(|(_, count)| *count >= 0.1)
            .collect();
        OperationCommands {
            operation,
            goal,
            // The sum of no numbers is negative zero.
            commands: by_name.values().fold(0.0, |sum, count| sum + count),
            by_name,
        }
    }
}

/// Responds to an input request, and waits for the result of its call.
async fn respond(node: &Node, asked: (String, Stream, Value)) -> io::Result<()> {
    let (session, mut stream, id) = asked;
    let result = json!({"action": "accept", "content": {}});
    let response = json!({"jsonrpc": "2.0", "id": id, "result": result});
    node.post(&session, &response).await?;
    stream.finish().await
}
