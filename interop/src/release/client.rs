//! Runs a release as the client of `toolwire demo`.

use std::process::Command;

use crate::client_peer::{Check, SCRIPT_TIMEOUT, run_script};
use crate::problem::Problem;
use crate::release::placeholders::Placeholders;
use crate::release::{ClientRole, Release};
use crate::server_peer::ServerWire;

impl Release {
    /// Runs every check of the client.
    ///
    /// Over stdio, the client starts the server, and the check `exit_on_close` shows that the server does not outlive
    /// it. Over HTTP, each run has its own server, and the check `exit_on_signal` shows that it exits on request.
    ///
    /// # Errors
    ///
    /// Returns an error if the server or the release is missing, or if the client hangs or prints anything but checks.
    pub fn run_client(&self, role: &ClientRole) -> Result<Vec<Check>, Problem> {
        let arguments = role.arguments();
        let mut texts = arguments.clone();
        texts.extend(self.variables.iter().map(|(_, value)| *value));
        let placeholders = Placeholders::of(&texts, role.revision, 0)?;
        let arguments = placeholders.fill_all(&arguments);
        let (program, arguments) = self.program.locate(&arguments)?;
        let mut command = Command::new(program);
        command.args(arguments);
        command.envs(self.program.variables());
        for (name, value) in self.variables {
            command.env(name, placeholders.fill(value));
        }
        let output = run_script(command, SCRIPT_TIMEOUT)?;
        let mut checks = output.checks;
        if role.wire == ServerWire::Stdio {
            checks.push(Check::new("exit_on_close", output.server_outlived));
        }
        checks.extend(placeholders.end_demo());
        Ok(checks)
    }
}
