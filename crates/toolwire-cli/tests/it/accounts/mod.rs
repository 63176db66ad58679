//! Logins with the real program, a protected server and a small authorization server.

mod authorization_server;
#[cfg(unix)]
mod doctor;
#[cfg(unix)]
mod inspect_login;
mod login;
mod messages;
mod protected_server;
mod shared_login;
mod stored_login;

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

use crate::accounts::authorization_server::{AuthorizationServer, open_page};
use crate::accounts::protected_server::ProtectedServer;
use crate::client::{CommandOutput, TempDirectory, run_command};
use crate::process::{toolwire, within};

/// A directory for logins, a protected server and its authorization server.
struct Fixture {
    directory: TempDirectory,
    issuer: AuthorizationServer,
    server: ProtectedServer,
}

impl Fixture {
    async fn new(name: &str) -> Self {
        let issuer = AuthorizationServer::start().await;
        let server = ProtectedServer::start(&issuer).await;
        Self {
            directory: TempDirectory::new(name),
            issuer,
            server,
        }
    }

    /// Returns `toolwire` with these arguments. `URL` stands for the server.
    fn command(&self, arguments: &[&str]) -> Command {
        let url = self.server.url();
        let arguments: Vec<_> = arguments
            .iter()
            .map(|argument| match *argument {
                "URL" => url,
                argument => argument,
            })
            .collect();
        let mut command = toolwire(&arguments);
        command
            .env("TOOLWIRE_HOME", self.home())
            // A fake browser records that it was opened.
            .env("BROWSER", "any")
            .env("PATH", self.programs());
        command
    }

    async fn run(&self, arguments: &[&str]) -> CommandOutput {
        run_command(self.command(arguments)).await
    }

    /// Returns a directory with a browser that only records the address.
    fn programs(&self) -> PathBuf {
        let trace = self.directory.0.join("opened");
        let script = format!("#!/bin/sh\necho \"$@\" >> '{}'\n", trace.display());
        let program = self.directory.write("programs/xdg-open", &script);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;

            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&program, executable).expect("the file belongs to the test");
        }
        PathBuf::from(program)
            .parent()
            .expect("PATH is set")
            .to_owned()
    }

    /// Returns the pages that were opened.
    fn opened(&self) -> String {
        std::fs::read_to_string(self.directory.0.join("opened")).unwrap_or_default()
    }

    fn home(&self) -> PathBuf {
        self.directory.0.join("home")
    }

    fn tokens(&self) -> String {
        std::fs::read_to_string(self.home().join("tokens.json")).unwrap_or_default()
    }

    /// Makes all access tokens expire.
    fn expire_access_tokens(&self) {
        let mut file: Value = serde_json::from_str(&self.tokens()).expect("JSON");
        let values = file["values"].as_object_mut().expect("an object");
        for (name, value) in values {
            if name.starts_with("token of ") {
                let text = value.as_str().expect("a text");
                let mut token: Value = serde_json::from_str(text).expect("JSON");
                token["expires_at"] = json!(2);
                token["renew_at"] = json!(1);
                *value = token.to_string().into();
            }
        }
        self.directory.write("home/tokens.json", &file.to_string());
        self.issuer.state().invalidate_access_tokens();
    }

    /// Logs in like a user with a browser.
    async fn log_in(&self, arguments: &[&str]) -> CommandOutput {
        let mut words = vec!["login", "--no-browser", "URL"];
        words.extend(arguments);
        let login = PendingLogin::start(self.command(&words)).await;
        let redirect = open_page(&login.url).await;
        open_page(&redirect).await;
        login.end().await
    }
}

/// A login that waits for its user.
struct PendingLogin {
    child: Child,
    stderr_lines: Lines<BufReader<ChildStderr>>,
    /// The standard error so far.
    stderr: String,
    /// The address of the login page.
    url: String,
}

impl PendingLogin {
    async fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program under test starts");
        let stderr = child.stderr.take().expect("standard error is piped");
        let mut stderr_lines = BufReader::new(stderr).lines();
        let mut stderr = String::new();
        let url = loop {
            let line = within(stderr_lines.next_line())
                .await
                .expect("standard error is readable");
            let line = line.unwrap_or_else(|| panic!("no login address: {stderr}"));
            stderr.push_str(&format!("{line}\n"));
            if let Some(url) = line.strip_prefix("  http") {
                break format!("http{url}");
            }
        };
        Self {
            child,
            stderr_lines,
            stderr,
            url,
        }
    }

    /// Pastes a line into standard input.
    async fn paste(&mut self, text: &str) {
        let input = self.child.stdin.as_mut().expect("standard input is piped");
        let line = format!("{text}\n");
        within(input.write_all(line.as_bytes()))
            .await
            .expect("the program reads");
    }

    /// Waits until standard error contains `part`.
    async fn wait_for_output(&mut self, part: &str) {
        while !self.stderr.contains(part) {
            let line = within(self.stderr_lines.next_line())
                .await
                .expect("standard error is readable");
            let line = line.unwrap_or_else(|| panic!("missing: {}", self.stderr));
            self.stderr.push_str(&format!("{line}\n"));
        }
    }

    async fn end(mut self) -> CommandOutput {
        while let Some(line) = within(self.stderr_lines.next_line())
            .await
            .expect("standard error is readable")
        {
            self.stderr.push_str(&format!("{line}\n"));
        }
        let mut out = String::new();
        let stdout = self
            .child
            .stdout
            .as_mut()
            .expect("standard output is piped");
        within(stdout.read_to_string(&mut out))
            .await
            .expect("the output is UTF-8");
        let status = within(self.child.wait()).await.expect("the program exits");
        CommandOutput {
            code: status.code(),
            stdout: out,
            stderr: self.stderr,
        }
    }
}
