//! Starts the developed server as an upstream server.

use std::fmt;
use std::sync::Arc;

use toolwire::ProcessTracker;
use toolwire::relay::UpstreamSource;

use crate::connect::{self, StderrListener};
use crate::connection_arguments::Server;
use crate::dev::program_copy::ProgramCopy;
use crate::dev::status::DevStatus;
use crate::dev_arguments::Dev;
use crate::failure::Failure;
use crate::record::Recorder;
use crate::screen::Screen;
use crate::target::Target;

/// Starts servers with the options of the command line.
pub(super) struct ServerStarter {
    server: Server,
    /// Whether a login may read an address from standard input.
    may_paste: bool,
    screen: Arc<Screen>,
    processes: ProcessTracker,
    recorder: Option<Arc<Recorder>>,
    on_stderr: StderrListener,
}

/// A server whose processes start when they are needed.
#[derive(Debug)]
pub(super) struct StartedServer {
    pub(super) source: UpstreamSource,
    /// The program of the processes, if it was built.
    _program: Option<ProgramCopy>,
}

impl ServerStarter {
    /// Creates the record if one is wanted.
    ///
    /// # Errors
    /// Returns an error if the record cannot be created.
    pub(super) fn new(
        arguments: &Dev,
        target: &Target,
        screen: &Arc<Screen>,
        processes: &ProcessTracker,
        status: &DevStatus,
    ) -> Result<Self, Failure> {
        let server = arguments.server.clone();
        let recorder = server.recording.open(connect::transport(target), screen)?;
        let status = status.clone();
        Ok(Self {
            server,
            may_paste: !arguments.stdio && Screen::is_interactive(),
            screen: Arc::clone(screen),
            processes: processes.clone(),
            recorder,
            on_stderr: Arc::new(move |line: &str| status.stderr(line)),
        })
    }

    /// Returns the server of a target. It is not connected yet.
    ///
    /// # Errors
    /// Returns an error if an option of the command line does not suit the target.
    pub(super) fn server(
        &self,
        target: &Target,
        program: Option<ProgramCopy>,
    ) -> Result<StartedServer, Failure> {
        let upstream = connect::upstream_with(
            &target.with_reports(),
            &self.server,
            self.may_paste,
            &self.screen,
            &self.processes,
            self.recorder.clone(),
            Some(Arc::clone(&self.on_stderr)),
        )?;
        // The developer permits what the server under development does.
        let upstream = upstream.with_name("server").with_sampling(true);
        let upstream = upstream.with_roots(true).with_secret_forms(true);
        Ok(StartedServer {
            source: upstream.source(),
            _program: program,
        })
    }
}

impl fmt::Debug for ServerStarter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerStarter").finish_non_exhaustive()
    }
}
