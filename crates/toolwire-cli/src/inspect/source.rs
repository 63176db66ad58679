//! What the page shows: a server, or a record without its server.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolwire::relay::Relay;

use crate::failure::Failure;
use crate::inspect::log::Log;
use crate::record::{Record, RecordError, read_events};
use crate::replay::RecordedServer;
use crate::screen::Screen;
use crate::shell_words::command_line;
use crate::target::Target;

/// The end of the name of a record.
const EXTENSION: &str = "mcplog";

/// What the page shows.
pub(crate) enum Source {
    Server(Target),
    Record(OpenRecord),
}

/// A record, and a server that responds as the recorded one did.
pub(crate) struct OpenRecord {
    path: PathBuf,
    pub(super) relay: Relay,
}

impl From<Target> for Source {
    fn from(target: Target) -> Self {
        Self::Server(target)
    }
}

impl Source {
    /// Returns the transport, for a record.
    pub(super) fn transport(&self) -> &'static str {
        match self {
            Self::Server(Target::Http(_)) => "http",
            Self::Server(Target::Child(_)) => "stdio",
            Self::Record(_) => "record",
        }
    }

    /// Returns `true` for a server process, whose connection ends with the process.
    pub(super) fn is_process(&self) -> bool {
        matches!(self, Self::Server(Target::Child(_)))
    }

    /// Returns the target for the page. Headers and environment variables may be secrets, so they are not included.
    pub(super) fn value(&self) -> Value {
        let transport = self.transport();
        match self {
            Self::Server(Target::Http(endpoint)) => json!({
                "transport": transport,
                "label": endpoint.url,
                "url": endpoint.url,
            }),
            Self::Server(Target::Child(child)) => {
                let words = [&child.program].into_iter().chain(&child.arguments);
                let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
                json!({
                    "transport": transport,
                    "label": command_line(words.iter().map(AsRef::as_ref)),
                    "command": words,
                })
            }
            Self::Record(record) => json!({
                "transport": transport,
                "label": record.path.to_string_lossy(),
            }),
        }
    }
}

impl OpenRecord {
    /// Returns the file that the words of the command line name, if it is a record.
    pub(super) fn file(words: &[String]) -> Option<&Path> {
        let [word] = words else {
            return None;
        };
        let path = Path::new(word);
        let extension = path.extension()?;
        extension.eq_ignore_ascii_case(EXTENSION).then_some(path)
    }

    /// Opens a record.
    pub(super) fn read(path: &Path, screen: &Screen) -> Result<Self, Failure> {
        let record = Record::read(path).map_err(|error| failed(path, &error))?;
        if let Some(warning) = &record.warning {
            screen.warn(warning);
        }
        Ok(Self {
            path: path.to_owned(),
            relay: RecordedServer::new(&record, false).upstream().relay(),
        })
    }

    /// Adds all events of the record to the log.
    pub(super) fn fill(&self, log: &Log) -> Result<(), Failure> {
        let filled = read_events(&self.path, |event| log.recorded(&event));
        filled.map_err(|error| failed(&self.path, &error))
    }
}

fn failed(path: &Path, error: &RecordError) -> Failure {
    Failure::usage(format!("the record {}: {error}", path.display()))
        .with_advice("create a record with: toolwire record FILE SERVER")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_is_recognized_by_its_name() {
        let check = |words: &[&str], expected: bool| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(OpenRecord::file(&words).is_some(), expected, "{words:?}");
        };
        check(&["a.mcplog"], true);
        check(&["/tmp/A.MCPLOG"], true);
        check(&["mcplog"], false);
        check(&["https://example.com/mcp"], false);
        check(&["a.mcplog", "more"], false);
        check(&[], false);
    }
}
