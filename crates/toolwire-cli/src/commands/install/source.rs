//! The server that is installed: a command, an address, or the crate in the current directory.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::cargo_package::CargoPackage;
use crate::failure::Failure;
use crate::hosts::{InstalledServer, Variable, name_of};
use crate::install_arguments::Install;
use crate::target::{ChildProcess, Endpoint, Target, is_address};

/// What to install instead of the program of a crate.
const COMMAND_ADVICE: &str =
    "give the command that starts the server: toolwire install --host HOST -- COMMAND";

/// A server with the name that it gets by default.
#[derive(Debug)]
pub(super) struct InstallSource {
    pub(super) server: InstalledServer,
    /// The name of the crate, if the server is one.
    package: Option<String>,
}

impl InstallSource {
    pub(super) async fn new(arguments: &Install) -> Result<Self, Failure> {
        let server = &arguments.server;
        let has_values = server.environment.iter().any(|(_, value)| value.is_some());
        if (has_values || !server.headers.is_empty()) && !arguments.inline_secrets {
            return Err(Failure::usage(
                "--env NAME=value and --header write their values to the file, where other programs can read them",
            )
            .with_advice(
                "pass the name only (--env NAME, --bearer-env NAME), or confirm with --inline-secrets",
            ));
        }
        let mut package = None;
        let words = match (server.command.as_slice(), server.words.as_slice()) {
            ([_, ..], []) => server.command.clone(),
            ([_, ..], [word, ..]) | ([], [_, word, ..]) => {
                return Err(
                    Failure::usage(format!("`{word}` is an unexpected argument"))
                        .with_advice("give one address, or one command after --"),
                );
            }
            ([], [url]) if is_address(url) => {
                if !server.environment.is_empty() {
                    return Err(Failure::usage("--env needs a command, not an address")
                        .with_advice("pass a token with --bearer-env VARIABLE"));
                }
                return Ok(Self {
                    server: InstalledServer::Url {
                        url: url.clone(),
                        headers: server.headers.clone(),
                        bearer: server.bearer_env.clone(),
                    },
                    package,
                });
            }
            ([], [word]) => {
                return Err(
                    Failure::usage(format!("`{word}` is not an address")).with_advice(format!(
                        "write a command after --: toolwire install … -- {word}"
                    )),
                );
            }
            ([], []) => {
                let current = CargoPackage::current().await.map_err(with_alternatives)?;
                let binary = current.release_binary(COMMAND_ADVICE)?;
                package = Some(current.name);
                vec![binary.into_os_string()]
            }
        };
        if server.bearer_env.is_some() || !server.headers.is_empty() {
            return Err(
                Failure::usage("--header and --bearer-env need an address, not a command")
                    .with_advice("pass secrets to a command with --env VARIABLE"),
            );
        }
        Ok(Self {
            server: command(&words, &server.environment)?,
            package,
        })
    }

    /// Returns the name of the entry, unless the user chooses one.
    pub(super) fn name(&self) -> String {
        let name = self.package.clone();
        name.unwrap_or_else(|| name_of(&self.server))
    }
}

/// Adds what can be installed instead of a crate.
fn with_alternatives(failure: Failure) -> Failure {
    let remedy = failure.advice().unwrap_or_default();
    let advice = format!("give an address, or a command after --; or {remedy}");
    failure.with_advice(advice)
}

/// Returns a server as a host starts it.
///
/// # Errors
/// Returns the name of an environment variable that is not set here.
pub(super) fn target(server: &InstalledServer) -> Result<Target, String> {
    let own = |name: &str| std::env::var(name).map_err(|_| name.to_owned());
    match server {
        InstalledServer::Command {
            program,
            arguments,
            environment,
        } => {
            let mut child = ChildProcess::new(program);
            child.arguments = arguments.iter().map(OsString::from).collect();
            for variable in environment {
                let value = match &variable.value {
                    Some(value) => value.clone(),
                    None => own(&variable.name)?,
                };
                let name = variable.name.clone();
                child.environment.push((name.into(), value.into()));
            }
            Ok(Target::Child(child))
        }
        InstalledServer::Url {
            url,
            headers,
            bearer,
        } => {
            let mut endpoint = Endpoint::new(url);
            endpoint.headers.clone_from(headers);
            if let Some(variable) = bearer {
                let value = format!("Bearer {}", own(variable)?);
                endpoint.headers.push(("Authorization".to_owned(), value));
            }
            Ok(Target::Http(endpoint))
        }
    }
}

fn command(
    words: &[OsString],
    environment: &[(OsString, Option<OsString>)],
) -> Result<InstalledServer, Failure> {
    let words = words.iter().map(|word| text(word));
    let mut words = words.collect::<Result<Vec<_>, _>>()?;
    let mut program = words.remove(0);
    // A host starts the program in another directory. A name is searched in `PATH`.
    if Path::new(&program).components().count() > 1 {
        let absolute = std::path::absolute(&program).map_err(|error| {
            Failure::usage(format!("the current directory is unknown: {error}"))
        })?;
        program = text(absolute.as_os_str())?;
    }
    let environment = environment.iter().map(|(name, value)| {
        Ok(Variable {
            name: text(name)?,
            value: value.as_deref().map(text).transpose()?,
        })
    });
    Ok(InstalledServer::Command {
        program,
        arguments: words,
        environment: environment.collect::<Result<_, Failure>>()?,
    })
}

/// Returns a word as text, because configuration files are UTF-8.
pub(super) fn text(word: &OsStr) -> Result<String, Failure> {
    let text = word.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::usage(format!("{} is not valid UTF-8", word.display())))
}
