//! An authorization server that is not ours: the certified npm package `oidc-provider`.
//!
//! The script `interop/peers/servers/authorization_server.mjs` says how it is set up. It listens on a free port and ends
//! with the value that stands for it.

use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use crate::installed::{node, peers_directory};
use crate::lines::lines_of;
use crate::problem::Problem;

/// How long it may take until it listens, on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How the authorization server differs from what it is by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Variation {
    /// Only the server itself can read its tokens; otherwise they are JWTs.
    Opaque,
    /// Tokens last a second, and clients have to renew them all the time.
    Short,
    /// Every proof of possession needs a nonce of the server.
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

/// The running authorization server; it is killed when this is dropped.
#[derive(Debug)]
pub struct AuthorizationServer {
    child: Child,
    errors: Receiver<String>,
    issuer: String,
}

impl AuthorizationServer {
    /// Starts it and waits until it says where it listens.
    ///
    /// # Errors
    ///
    /// When the peers are not installed, or it does not listen in time.
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
        let errors = lines_of(child.stderr.take().expect("stderr is piped"));
        let mut server = Self {
            child,
            errors,
            issuer: String::new(),
        };
        let mut said = Vec::new();
        // It warns of all that makes it fit for tests before it says where it is.
        while let Ok(line) = server.errors.recv_timeout(START_TIMEOUT) {
            if let Some(issuer) = line.strip_prefix("listening on ") {
                server.issuer = issuer.to_owned();
                return Ok(server);
            }
            said.push(line);
        }
        Err(Problem::new(format!(
            "the authorization server does not listen:\n{}",
            said.join("\n")
        )))
    }

    /// Its URL, which is also its name.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }
}

impl Drop for AuthorizationServer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let said: Vec<String> = self.errors.try_iter().collect();
            eprintln!("the authorization server said:\n{}", said.join("\n"));
        }
        // Nothing is left to do when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
