//! Runs the installed conformance suite and prints the verdicts. `cargo xtask conformance` installs the suite and
//! starts this program.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use toolwire_conformance::{
    Problem, Suite, Table, check_authorization, check_client, check_client_extensions,
    check_server, check_server_extensions, spec_versions,
};

/// Runs the conformance suite.
#[derive(Debug, Parser)]
struct Arguments {
    /// The directory of the suite; the results are written below it.
    #[arg(long)]
    suite: PathBuf,
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Debug, Subcommand)]
enum Subject {
    /// Runs the server scenarios of every revision.
    Server {
        /// The server to start.
        #[arg(long)]
        binary: PathBuf,
    },
    /// Runs the client scenarios of every revision and of the extensions.
    Client {
        /// The client to start, once per scenario.
        #[arg(long)]
        binary: PathBuf,
    },
    /// Runs the scenarios for authorization servers of every revision.
    Authorization {
        /// The authorization server to start.
        #[arg(long)]
        binary: PathBuf,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments.suite, &arguments.subject).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the verdict of each revision. Returns `true` if all are clean.
async fn run(directory: &Path, subject: &Subject) -> Result<bool, Problem> {
    let suite = Suite::installed_in(directory)?;
    let results = directory.join("results");
    let mut verdicts = Vec::new();
    for spec_version in spec_versions() {
        verdicts.push(match subject {
            Subject::Server { binary } => {
                let results = results.join("server").join(spec_version);
                check_server(&suite, binary, spec_version, &results).await?
            }
            Subject::Client { binary } => {
                let results = results.join("client").join(spec_version);
                check_client(&suite, binary, spec_version, &results).await?
            }
            Subject::Authorization { binary } => {
                let results = results.join("authorization").join(spec_version);
                check_authorization(&suite, binary, spec_version, &results).await?
            }
        });
    }
    match subject {
        Subject::Server { binary } => {
            let results = results.join("server").join("extensions");
            verdicts.push(check_server_extensions(&suite, binary, &results).await?);
        }
        Subject::Client { binary } => {
            let results = results.join("client").join("extensions");
            verdicts.push(check_client_extensions(&suite, binary, &results).await?);
        }
        Subject::Authorization { .. } => {}
    }
    // A closed terminal is not an error: the exit code has the outcome.
    let _ = write!(std::io::stdout(), "{}", Table::new(&verdicts));
    Ok(verdicts.iter().all(|verdict| verdict.is_clean()))
}
