//! Finds the server that the command line names.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use toolwire_proto::inspection;

use crate::connection_arguments::{Lookup, Server};
use crate::failure::Failure;
use crate::screen::Screen;
use crate::server_files;

/// A server to connect to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Target {
    Http(Endpoint),
    Child(ChildProcess),
}

impl Target {
    /// Returns the target with the variable that switches reports about the inside of a server on, unless the user has set it.
    /// A server with an address is not started by this command, so it gets no variable.
    pub(crate) fn with_reports(&self) -> Self {
        let mut target = self.clone();
        if let Self::Child(child) = &mut target {
            let variables = &mut child.environment;
            if !variables
                .iter()
                .any(|(name, _)| name == inspection::VARIABLE)
            {
                variables.push((OsString::from(inspection::VARIABLE), OsString::from("1")));
            }
        }
        target
    }
}

/// The URL of a server and the headers of every request to it.
#[derive(Clone, PartialEq)]
pub(crate) struct Endpoint {
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
}

impl Endpoint {
    pub(crate) fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            headers: Vec::new(),
        }
    }

    /// Returns `true` if a header carries credentials.
    pub(crate) fn has_credentials(&self) -> bool {
        let mut names = self.headers.iter().map(|(name, _)| name);
        names.any(|name| name.eq_ignore_ascii_case("authorization"))
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Headers may contain secrets.
        f.debug_struct("Endpoint")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// A command that starts a server on its standard input and output.
#[derive(Clone, PartialEq)]
pub(crate) struct ChildProcess {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    /// Variables that the server gets in addition to the default ones.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// `true` if the server gets all variables of this process.
    pub(crate) inherits_environment: bool,
    pub(crate) directory: Option<PathBuf>,
}

impl ChildProcess {
    pub(crate) fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            inherits_environment: false,
            directory: None,
        }
    }
}

impl std::fmt::Debug for ChildProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The environment may contain secrets.
        f.debug_struct("ChildProcess")
            .field("program", &self.program)
            .field("arguments", &self.arguments)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// Finds the server, and returns it with the remaining words.
pub(crate) async fn find(
    server: &Server,
    screen: &Screen,
) -> Result<(Target, Vec<String>), Failure> {
    let mut words = server.words.clone();
    let mut target = match server.command.split_first() {
        Some((program, arguments)) => {
            let mut child = ChildProcess::new(program.clone());
            child.arguments = arguments.to_vec();
            Target::Child(child)
        }
        None => {
            if words.is_empty() {
                return Err(Failure::usage("no server is given").with_advice(
                    "give an address (https://…), a name from mcp.json, or a command after --",
                ));
            }
            let name = words.remove(0);
            named(&name, &words, &server.lookup, screen).await?
        }
    };
    let token = match &server.bearer_env {
        Some(variable) => Some(bearer(variable)?),
        None => None,
    };
    match &mut target {
        Target::Http(_) if server.inherit_env || !server.environment.is_empty() => {
            return Err(
                Failure::usage("--env and --inherit-env need a command, not an address")
                    .with_advice("pass credentials to an address with --header or --bearer-env"),
            );
        }
        Target::Http(endpoint) => {
            endpoint.headers.extend(server.headers.iter().cloned());
            endpoint.headers.extend(token);
        }
        Target::Child(_) if server.tls.insecure || server.tls.cacert.is_some() => {
            return Err(
                Failure::usage("--cacert and --insecure need an address, not a command")
                    .with_advice("remove them"),
            );
        }
        Target::Child(_) if token.is_some() || !server.headers.is_empty() => {
            return Err(
                Failure::usage("--header and --bearer-env need an address, not a command")
                    .with_advice("pass secrets to a command with --env VARIABLE"),
            );
        }
        Target::Child(child) => {
            child.inherits_environment = server.inherit_env;
            for (name, value) in &server.environment {
                let value = match value {
                    Some(value) => value.clone(),
                    None => own_variable(name)?,
                };
                child.environment.push((name.clone(), value));
            }
        }
    }
    Ok((target, words))
}

/// Returns the value of a variable of this process.
fn own_variable(name: &OsStr) -> Result<OsString, Failure> {
    std::env::var_os(name).ok_or_else(|| {
        let name = name.display();
        Failure::usage(format!("the environment variable {name} is not set"))
            .with_advice(format!("set it, or give its value: --env {name}=value"))
    })
}

/// Returns the server for an address or for a name from a configuration file. The words after the name are used for
/// hints only.
pub(crate) async fn named(
    name: &str,
    later_words: &[String],
    lookup: &Lookup,
    screen: &Screen,
) -> Result<Target, Failure> {
    if is_address(name) {
        Ok(Target::Http(Endpoint::new(name)))
    } else {
        server_files::look_up(name, later_words, lookup, screen).await
    }
}

/// Returns `true` if a word is the address of a server.
pub(crate) fn is_address(word: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| {
        word.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

fn bearer(variable: &str) -> Result<(String, String), Failure> {
    match std::env::var(variable) {
        Ok(token) if !token.trim().is_empty() => Ok((
            "Authorization".to_owned(),
            format!("Bearer {}", token.trim()),
        )),
        _ => Err(Failure::usage(format!(
            "the environment variable {variable} is not set or is empty"
        ))
        .with_advice(format!("set it: {variable}=… toolwire …"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_switched_on_for_processes_unless_the_user_has_set_the_variable() {
        let variables = |target: &Target| match target {
            Target::Child(child) => child.environment.clone(),
            Target::Http(_) => Vec::new(),
        };
        let mut child = ChildProcess::new("server");
        let on = (OsString::from(inspection::VARIABLE), OsString::from("1"));
        assert_eq!(
            variables(&Target::Child(child.clone()).with_reports()),
            [on]
        );
        let off = (OsString::from(inspection::VARIABLE), OsString::from("0"));
        child.environment.push(off.clone());
        assert_eq!(variables(&Target::Child(child).with_reports()), [off]);
        let address = Target::Http(Endpoint::new("http://localhost/mcp"));
        assert_eq!(address.with_reports(), address);
    }
}
