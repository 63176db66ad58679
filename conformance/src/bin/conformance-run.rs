//! Runs the installed conformance suite and says how it went; `cargo xtask conformance` installs and calls it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use toolwire_conformance::{Problem, Suite, check_server, spec_versions};

/// Runs the conformance suite.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where the suite is installed; the results are written below it.
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
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let Subject::Server { binary } = &arguments.subject;
    match run_server(&arguments.suite, binary).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// Says how each revision went; true when all are clean.
async fn run_server(directory: &Path, binary: &Path) -> Result<bool, Problem> {
    let suite = Suite::installed_in(directory)?;
    let mut clean = true;
    for spec_version in spec_versions() {
        let results = directory.join("results").join(spec_version);
        let verdict = check_server(&suite, binary, spec_version, &results).await?;
        clean &= verdict.is_clean();
        // A closed terminal is no reason to stop: the exit code tells.
        let _ = writeln!(std::io::stdout(), "{verdict}");
    }
    Ok(clean)
}
