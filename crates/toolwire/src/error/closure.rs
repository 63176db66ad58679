//! The reason why a connection closed, and the end of a server process.

/// The reason why a connection is closed. All its pending calls receive the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Closure {
    pub(crate) reason: String,
    pub(crate) exit: Option<ServerExit>,
}

#[cfg(feature = "client")]
impl Closure {
    /// Returns the reason for a connection that the client closed itself.
    pub(crate) fn by_this_side() -> Self {
        Self {
            reason: "the client was closed".to_owned(),
            exit: None,
        }
    }
}

/// How a server process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerExit {
    /// The exit code. `None` if a signal ended the process.
    pub code: Option<i32>,
    /// The end of its standard error output, at most 4 KiB.
    pub stderr: String,
    /// The end of its standard output that is not messages, at most 4 KiB. A program that is not an MCP server prints
    /// such text.
    pub stdout: String,
}
