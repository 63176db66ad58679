//! Logins with the real program, a protected server and a small authorization server.

mod authorization_server;
mod logging_in;
mod messages;
mod protected;
mod sharing;
mod using;

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

use crate::accounts::authorization_server::{AuthorizationServer, visit};
use crate::accounts::protected::Protected;
use crate::client::{Ran, Scratch, run_command};
use crate::process::{toolwire, within};

/// A directory for logins, a protected server and its authorization server.
struct Fixture {
    scratch: Scratch,
    issuer: AuthorizationServer,
    server: Protected,
}

impl Fixture {
    async fn new(name: &str) -> Self {
        let issuer = AuthorizationServer::start().await;
        let server = Protected::start(&issuer).await;
        Self {
            scratch: Scratch::new(name),
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

    async fn run(&self, arguments: &[&str]) -> Ran {
        run_command(self.command(arguments)).await
    }

    /// Returns a directory with a browser that only records the address.
    fn programs(&self) -> PathBuf {
        let trace = self.scratch.0.join("opened");
        let script = format!("#!/bin/sh\necho \"$@\" >> '{}'\n", trace.display());
        let program = self.scratch.write("programs/xdg-open", &script);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;

            let everybody = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&program, everybody).expect("the file belongs to the test");
        }
        PathBuf::from(program)
            .parent()
            .expect("PATH is set")
            .to_owned()
    }

    /// Returns the pages that were opened.
    fn opened(&self) -> String {
        std::fs::read_to_string(self.scratch.0.join("opened")).unwrap_or_default()
    }

    fn home(&self) -> PathBuf {
        self.scratch.0.join("home")
    }

    fn tokens(&self) -> String {
        std::fs::read_to_string(self.home().join("tokens.json")).unwrap_or_default()
    }

    /// Makes all access tokens expire.
    fn let_time_pass(&self) {
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
        self.scratch.write("home/tokens.json", &file.to_string());
        self.issuer.state().forget_access_tokens();
    }

    /// Logs in like a user with a browser.
    async fn log_in(&self, arguments: &[&str]) -> Ran {
        let mut words = vec!["login", "--no-browser", "URL"];
        words.extend(arguments);
        let login = LoggingIn::start(self.command(&words)).await;
        let back = visit(&login.url).await;
        visit(&back).await;
        login.end().await
    }
}

/// A login that waits for its user.
struct LoggingIn {
    child: Child,
    errors: Lines<BufReader<ChildStderr>>,
    /// The standard error so far.
    said: String,
    /// The address of the login page.
    url: String,
}

impl LoggingIn {
    async fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program under test starts");
        let stderr = child.stderr.take().expect("standard error is piped");
        let mut errors = BufReader::new(stderr).lines();
        let mut said = String::new();
        let url = loop {
            let line = within(errors.next_line())
                .await
                .expect("standard error is readable");
            let line = line.unwrap_or_else(|| panic!("no login address: {said}"));
            said.push_str(&format!("{line}\n"));
            if let Some(url) = line.strip_prefix("  http") {
                break format!("http{url}");
            }
        };
        Self {
            child,
            errors,
            said,
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
    async fn until_said(&mut self, part: &str) {
        while !self.said.contains(part) {
            let line = within(self.errors.next_line())
                .await
                .expect("standard error is readable");
            let line = line.unwrap_or_else(|| panic!("missing: {}", self.said));
            self.said.push_str(&format!("{line}\n"));
        }
    }

    async fn end(mut self) -> Ran {
        while let Some(line) = within(self.errors.next_line())
            .await
            .expect("standard error is readable")
        {
            self.said.push_str(&format!("{line}\n"));
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
        Ran {
            code: status.code(),
            out,
            err: self.said,
        }
    }
}
