//! The options that record messages, and the arguments of `toolwire record`.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use clap::Args;

use crate::failure::Failure;
use crate::record::Recorder;
use crate::screen::Screen;

pub(crate) const RECORD_HELP: &str = "\
Examples:
    toolwire record session.mcplog -- npx some-server /tmp
                                        for a client that starts this command
    toolwire record a.mcplog https://example.com/mcp --listen 127.0.0.1:8080
The file must not exist. Secrets are replaced unless --unredacted is given, but
read the file before you share it. `toolwire replay` uses it.";

/// Whether and how messages are recorded.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RecordOptions {
    /// Record all messages to this file, which must not exist; secrets are replaced
    #[arg(long = "record", value_name = "FILE", help_heading = "Output")]
    pub(crate) file: Option<PathBuf>,
    /// Record secrets, too
    #[arg(long, help_heading = "Output")]
    pub(crate) unredacted: bool,
    /// The record, after it was opened. Clones of the options share it.
    #[arg(skip)]
    opened: Arc<OnceLock<Arc<Recorder>>>,
}

impl RecordOptions {
    /// Returns the record, if one is wanted. The first call creates it. `target` is the transport of the servers.
    pub(crate) fn open(
        &self,
        target: &str,
        screen: &Arc<Screen>,
    ) -> Result<Option<Arc<Recorder>>, Failure> {
        let Some(file) = &self.file else {
            if self.unredacted {
                return Err(Failure::usage("--unredacted needs a record")
                    .with_advice("give the file with --record FILE"));
            }
            return Ok(None);
        };
        if let Some(recorder) = self.opened.get() {
            return Ok(Some(Arc::clone(recorder)));
        }
        let warnings = Arc::clone(screen);
        let recorder = Recorder::create(file, target, !self.unredacted, move |problem| {
            warnings.warn(problem);
        });
        let recorder = recorder.map_err(|error| {
            let file = file.display();
            Failure::usage(format!("the record {file} cannot be created: {error}"))
                .with_advice("give the name of a file that does not exist")
        })?;
        if self.unredacted {
            screen.warn("--unredacted: the record will contain passwords and tokens");
        }
        Ok(Some(Arc::clone(self.opened.get_or_init(|| recorder))))
    }

    /// Ends the record, if one was created. `has_failed` is the outcome of the command.
    pub(crate) fn finish(&self, has_failed: bool) {
        if let Some(recorder) = self.opened.get() {
            recorder.finish(has_failed);
        }
    }
}
