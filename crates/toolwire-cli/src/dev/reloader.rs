//! Builds and starts the server, again after each change, and replaces the running one.
//!
//! Files are watched all the time, so no change is lost. A change during a build does not end the build, because the build
//! may have made it: [`RunChanges`] decides whether another build follows. A change during the start of a server ends the
//! start, because a server that does not respond would delay its corrected version until a timeout.

use std::time::Duration;

use tokio::sync::watch::Sender;
use toolwire::relay::UpstreamStatus;

use crate::dev::build::BuildPlan;
use crate::dev::calls_in_flight::CallsInFlight;
use crate::dev::plan::DevPlan;
use crate::dev::program_copy::ProgramCopy;
use crate::dev::replaced::ReplacedServers;
use crate::dev::run_changes::RunChanges;
use crate::dev::source::ReloadingSource;
use crate::dev::start::{ServerStarter, StartedServer};
use crate::dev::status::DevStatus;
use crate::dev::watch::Watcher;
use crate::target::Target;

/// How often the state of the server is looked at.
const STATE_INTERVAL: Duration = Duration::from_millis(500);

/// Builds, starts and replaces the server.
#[derive(Debug)]
pub(super) struct Reloader {
    plan: DevPlan,
    starter: ServerStarter,
    source: ReloadingSource,
    status: DevStatus,
    current: Option<StartedServer>,
    replaced: ReplacedServers,
    /// The number of the last build.
    number: u64,
    /// The number of the build whose server is the current one.
    current_number: u64,
}

impl Reloader {
    pub(super) fn new(
        plan: DevPlan,
        starter: ServerStarter,
        source: ReloadingSource,
        calls: CallsInFlight,
        status: DevStatus,
        grace: Duration,
    ) -> Self {
        Self {
            plan,
            starter,
            source,
            status,
            current: None,
            replaced: ReplacedServers::new(calls, grace),
            number: 0,
            current_number: 0,
        }
    }

    /// Starts the server, and again after each change, until the future is dropped. Sets `is_started` after the first
    /// attempt.
    pub(super) async fn run(&mut self, is_started: &Sender<bool>) {
        let mut watcher = Watcher::new(&self.plan.watched, self.status.screen()).await;
        let mut changes = RunChanges::default();
        loop {
            self.reload(&mut watcher, &mut changes).await;
            changes.add(watcher.changed_so_far().await);
            let run = changes.end();
            if !run.ignored.is_empty() {
                self.status.files_ignored(&run.ignored);
            }
            if !run.not_built.is_empty() {
                self.status.files_not_built(&run.not_built);
            }
            if self.current.is_some() || !run.is_repeated {
                is_started.send_replace(true);
            }
            if !run.is_repeated {
                tokio::select! {
                    _ = watcher.changed() => {}
                    () = self.report_state() => {}
                }
            }
        }
    }

    /// Closes the connections to all servers.
    pub(super) async fn close(&mut self) {
        self.replaced.abort();
        if let Some(current) = self.current.take() {
            current.source.close().await;
        }
    }

    /// Builds and starts the server. If that succeeds, it replaces the running one.
    async fn reload(&mut self, watcher: &mut Watcher, changes: &mut RunChanges) {
        self.number += 1;
        let number = self.number;
        let command = self.plan.build.label().unwrap_or_default();
        if self.plan.build != BuildPlan::None {
            self.status.building(number, &command);
        }
        let building = self.plan.build.run(&self.plan.directory, |line| {
            self.status.build_line(line);
        });
        let program = match building.await {
            Ok(program) => program,
            Err(failed) => return self.status.build_failed(number, &command, failed),
        };
        let copy = match program.map(|program| ProgramCopy::new(&program, number)) {
            Some(Ok(copy)) => Some(copy),
            Some(Err(error)) => {
                let reason = format!("the program cannot be copied: {error}");
                return self.status.start_failed(number, &reason);
            }
            None => None,
        };
        // The program is good, so it starts also if files have changed during the build.
        changes.add(watcher.changed_so_far().await);
        self.status.starting(number);
        let target = self.target(copy.as_ref());
        let server = match self.starter.server(&target, copy) {
            Ok(server) => server,
            Err(failure) => {
                let reason = failure.message_with_advice();
                return self.status.start_failed(number, &reason);
            }
        };
        let starting = async {
            self.replaced.wait_for_capacity().await;
            server.source.connect().await
        };
        let connected = tokio::select! {
            connected = starting => connected,
            () = changed_source(watcher, changes) => {
                self.status.start_ended(number);
                self.replaced.close_now(async move {
                    server.source.close().await;
                    drop(server);
                });
                return;
            }
        };
        if let Err(error) = &connected {
            self.status.start_failed(number, &error.to_string());
            if self.current.is_some() {
                server.source.close().await;
                return;
            }
            // The first server stays, and is started again after pauses.
        }
        self.source.replace(server.source.clone());
        self.current_number = number;
        if let Some(old) = self.current.replace(server) {
            self.replaced.close_later(async move {
                old.source.close().await;
                // Its program is removed only now.
                drop(old);
            });
        }
        if connected.is_ok() {
            self.status.running(number);
        }
    }

    /// Returns the server to start: that of the command line, with the program that was built.
    fn target(&self, copy: Option<&ProgramCopy>) -> Target {
        let mut target = self.plan.target.clone();
        if let (Target::Child(child), Some(copy), BuildPlan::Cargo(cargo)) =
            (&mut target, copy, &self.plan.build)
        {
            child.program = copy.path.clone().into();
            child.arguments.clone_from(&cargo.program_arguments);
        }
        target
    }

    /// Reports when the server ends by itself, and when it runs again. Never returns.
    async fn report_state(&mut self) {
        let Some(current) = &self.current else {
            return std::future::pending().await;
        };
        let status = current.source.state().status;
        let mut is_running = matches!(status, UpstreamStatus::Connected);
        loop {
            tokio::time::sleep(STATE_INTERVAL).await;
            self.replaced.remove_closed();
            match current.source.state().status {
                UpstreamStatus::Connected if !is_running => {
                    is_running = true;
                    self.status.running(self.current_number);
                }
                UpstreamStatus::Unreachable { reason, .. } if is_running => {
                    is_running = false;
                    self.status.stopped(self.current_number, &reason);
                }
                _ => {}
            }
        }
    }
}

/// Waits until files change that cause another run.
async fn changed_source(watcher: &mut Watcher, changes: &mut RunChanges) {
    while !changes.add(watcher.changed().await) {}
}
