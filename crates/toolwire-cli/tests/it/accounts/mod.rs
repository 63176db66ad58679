//! Logins of the real program, at a real protected server, with an authorization server in miniature.

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

/// A user with a directory for logins, a protected server, and whoever gives out its tokens.
struct World {
    scratch: Scratch,
    issuer: AuthorizationServer,
    server: Protected,
}

impl World {
    async fn new(name: &str) -> Self {
        let issuer = AuthorizationServer::start().await;
        let server = Protected::start(&issuer).await;
        Self {
            scratch: Scratch::new(name),
            issuer,
            server,
        }
    }

    /// `toolwire` with these arguments; `URL` stands for the server.
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
            // There seems to be a browser, and whoever opens it leaves a trace.
            .env("BROWSER", "any")
            .env("PATH", self.programs());
        command
    }

    async fn run(&self, arguments: &[&str]) -> Ran {
        run_command(self.command(arguments)).await
    }

    /// A directory with a browser that only writes down that it was opened, and where.
    fn programs(&self) -> PathBuf {
        let trace = self.scratch.0.join("opened");
        let script = format!("#!/bin/sh\necho \"$@\" >> '{}'\n", trace.display());
        let program = self.scratch.write("programs/xdg-open", &script);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;

            let everybody = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&program, everybody).expect("it is ours");
        }
        PathBuf::from(program)
            .parent()
            .expect("it has one")
            .to_owned()
    }

    /// The pages that were opened.
    fn opened(&self) -> String {
        std::fs::read_to_string(self.scratch.0.join("opened")).unwrap_or_default()
    }

    fn home(&self) -> PathBuf {
        self.scratch.0.join("home")
    }

    fn tokens(&self) -> String {
        std::fs::read_to_string(self.home().join("tokens.json")).unwrap_or_default()
    }

    /// So much time passes that all access tokens are over.
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

    /// Logs in as a user with a browser does.
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
    /// What was said so far.
    said: String,
    /// Where the user is sent.
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
        let stderr = child.stderr.take().expect("it is piped");
        let mut errors = BufReader::new(stderr).lines();
        let mut said = String::new();
        let url = loop {
            let line = within(errors.next_line()).await.expect("it can be read");
            let line = line.unwrap_or_else(|| panic!("it says where to log in: {said}"));
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

    /// Pastes a line.
    async fn paste(&mut self, text: &str) {
        let input = self.child.stdin.as_mut().expect("it is piped");
        let line = format!("{text}\n");
        within(input.write_all(line.as_bytes()))
            .await
            .expect("it reads");
    }

    /// Waits until this is said.
    async fn until_said(&mut self, part: &str) {
        while !self.said.contains(part) {
            let line = within(self.errors.next_line())
                .await
                .expect("it can be read");
            let line = line.unwrap_or_else(|| panic!("never said: {}", self.said));
            self.said.push_str(&format!("{line}\n"));
        }
    }

    async fn end(mut self) -> Ran {
        while let Some(line) = within(self.errors.next_line())
            .await
            .expect("it can be read")
        {
            self.said.push_str(&format!("{line}\n"));
        }
        let mut out = String::new();
        let stdout = self.child.stdout.as_mut().expect("it is piped");
        within(stdout.read_to_string(&mut out))
            .await
            .expect("texts are UTF-8");
        let status = within(self.child.wait()).await.expect("it ends");
        Ran {
            code: status.code(),
            out,
            err: self.said,
        }
    }
}
