//! An independent authorization server: the certified npm package `oidc-provider`.
//!
//! The script `interop/peers/servers/authorization_server.mjs` configures it. It listens on a free port and ends when
//! its value is dropped.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use crate::installed::{node, peers_directory};
use crate::lines::lines_of;
use crate::problem::Problem;

/// The longest start time, on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A variation of the authorization server's default behavior.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Variation {
    /// Tokens are opaque. By default they are JWTs.
    Opaque,
    /// Tokens last one second, so clients refresh them all the time.
    Short,
    /// Every DPoP proof needs a nonce of the server.
    Nonces,
}

impl Variation {
    const fn word(self) -> &'static str {
        match self {
            Self::Opaque => "opaque",
            Self::Short => "short",
            Self::Nonces => "nonces",
        }
    }
}

/// The running authorization server. It is killed when this is dropped.
#[derive(Debug)]
pub struct AuthorizationServer {
    child: Child,
    stderr: Receiver<String>,
    issuer: String,
}

impl AuthorizationServer {
    /// Starts the server and waits until it prints its address.
    ///
    /// # Errors
    ///
    /// Returns an error if the peers are not installed, or if the server does not listen in time.
    pub fn start(variations: &[Variation]) -> Result<Self, Problem> {
        let mut child = Command::new(node()?)
            .arg(peers_directory().join("servers/authorization_server.mjs"))
            .args(variations.iter().map(|variation| variation.word()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                Problem::new(format!("the authorization server does not start: {error}"))
            })?;
        let stderr = lines_of(child.stderr.take().expect("stderr is piped"));
        let mut server = Self {
            child,
            stderr,
            issuer: String::new(),
        };
        let mut output = Vec::new();
        // It prints warnings about its test configuration before its address.
        while let Ok(line) = server.stderr.recv_timeout(START_TIMEOUT) {
            if let Some(issuer) = line.strip_prefix("listening on ") {
                server.issuer = issuer.to_owned();
                return Ok(server);
            }
            output.push(line);
        }
        Err(Problem::new(format!(
            "the authorization server does not listen:\n{}",
            output.join("\n")
        )))
    }

    /// Returns the issuer, which is the URL of the server.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }
}

impl Drop for AuthorizationServer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let output: Vec<String> = self.stderr.try_iter().collect();
            eprintln!("the authorization server printed:\n{}", output.join("\n"));
        }
        // An error means that the process has exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
