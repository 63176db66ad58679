//! What can be sent to the engine.

use std::borrow::Cow;

use redis::aio::ConnectionLike;
use redis::{Arg, Cmd, Pipeline, RedisResult, ScriptInvocation, Value};

use crate::connection::fault::Fault;

/// A command, several independent commands, or a script with its keys and arguments.
pub(crate) enum Request<'a> {
    Command(&'a Cmd),
    /// They are sent together. The response is the list of their responses.
    Commands(&'a Pipeline),
    /// It is loaded if the engine does not know it, because an engine forgets scripts when it restarts.
    Script(&'a ScriptInvocation<'a>),
}

impl Request<'_> {
    /// Returns the name of the command.
    pub(super) fn operation(&self) -> Cow<'_, str> {
        match self {
            Self::Command(command) => match command.args_iter().next() {
                Some(Arg::Simple(name)) => String::from_utf8_lossy(name),
                _ => Cow::Borrowed("unknown"),
            },
            Self::Script(_) => Cow::Borrowed("EVALSHA"),
            Self::Commands(_) => Cow::Borrowed("PIPELINE"),
        }
    }

    /// Sends the request on a connection.
    pub(super) async fn send_one(
        &self,
        connection: &mut impl ConnectionLike,
    ) -> RedisResult<Value> {
        match self {
            Self::Command(command) => command.query_async(connection).await,
            Self::Script(script) => script.invoke_async(connection).await,
            Self::Commands(commands) => {
                let responses: Vec<Value> = commands.query_async(connection).await?;
                Ok(Value::Array(responses))
            }
        }
    }
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
            Fault::Disconnected | Fault::Full | Fault::Misconfigured(_) | Fault::Rejected(_) => {
                false
            }
        }
    }
}
