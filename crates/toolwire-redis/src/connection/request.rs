//! What can be sent to the engine.

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster_async::ClusterConnection;
use redis::{Cmd, Pipeline, RedisResult, ScriptInvocation, Value};
use tokio::task::JoinSet;

use crate::connection::fault::Fault;

/// The maximum number of independent commands that are sent to a cluster at the same time.
const CONCURRENT_COMMANDS: usize = 256;

/// A command, several independent commands, or a script with its keys and arguments.
pub(crate) enum Request<'a> {
    Command(&'a Cmd),
    /// They are sent together. The response is the list of their responses.
    Commands(&'a Pipeline),
    /// It is loaded if the engine does not know it, because an engine forgets scripts when it restarts.
    Script(&'a ScriptInvocation<'a>),
}

/// An open connection for commands. Clones share it.
#[derive(Clone)]
pub(crate) enum EngineConnection {
    Server(MultiplexedConnection),
    /// One connection to each primary. It follows slots that move.
    Cluster(ClusterConnection),
}

impl Request<'_> {
    pub(crate) async fn send(&self, connection: &mut EngineConnection) -> RedisResult<Value> {
        match (self, connection) {
            (Self::Commands(commands), EngineConnection::Server(connection)) => {
                let responses: Vec<Value> = commands.query_async(connection).await?;
                Ok(Value::Array(responses))
            }
            (Self::Commands(commands), EngineConnection::Cluster(connection)) => {
                let commands: Vec<&Cmd> = commands.cmd_iter().collect();
                let mut responses = Vec::with_capacity(commands.len());
                for commands in commands.chunks(CONCURRENT_COMMANDS) {
                    responses.extend(send_concurrently(commands, connection).await?);
                }
                Ok(Value::Array(responses))
            }
            (_, EngineConnection::Server(connection)) => self.send_one(connection).await,
            (_, EngineConnection::Cluster(connection)) => self.send_one(connection).await,
        }
    }

    async fn send_one(&self, connection: &mut impl ConnectionLike) -> RedisResult<Value> {
        match self {
            Self::Command(command) => command.query_async(connection).await,
            Self::Script(script) => script.invoke_async(connection).await,
            Self::Commands(commands) => commands.query_async(connection).await,
        }
    }
}

/// Sends commands whose keys may be on several primaries, and returns their responses in the same order.
async fn send_concurrently(
    commands: &[&Cmd],
    connection: &ClusterConnection,
) -> RedisResult<Vec<Value>> {
    let mut running = JoinSet::new();
    for (position, command) in commands.iter().enumerate() {
        let (command, mut connection) = ((*command).clone(), connection.clone());
        running.spawn(async move {
            let response: RedisResult<Value> = command.query_async(&mut connection).await;
            (position, response)
        });
    }
    let mut responses = vec![Value::Nil; commands.len()];
    while let Some(joined) = running.join_next().await {
        let (position, response) = joined.map_err(std::io::Error::other)?;
        if let Some(place) = responses.get_mut(position) {
            *place = response?;
        }
    }
    Ok(responses)
}

impl<'a> From<&'a Cmd> for Request<'a> {
    fn from(command: &'a Cmd) -> Self {
        Self::Command(command)
    }
}

impl<'a> From<&'a Pipeline> for Request<'a> {
    fn from(commands: &'a Pipeline) -> Self {
        Self::Commands(commands)
    }
}

impl<'a> From<&'a ScriptInvocation<'a>> for Request<'a> {
    fn from(script: &'a ScriptInvocation<'a>) -> Self {
        Self::Script(script)
    }
}

/// Whether a request may be sent again if its response was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// A second execution changes nothing and has the same response.
    Harmless,
    /// A second execution could have another response.
    Harmful,
}

impl Repeat {
    pub(crate) fn permits(self, fault: &Fault) -> bool {
        match fault {
            Fault::Lost(_) | Fault::Timeout(_) => self == Self::Harmless,
            Fault::Disconnected | Fault::Full | Fault::Rejected(_) => false,
        }
    }
}
