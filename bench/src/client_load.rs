//! The common part of the two clients that are measured from outside: arguments, runtime and the last line. `CLIENT URL
//! CONCURRENCY SECONDS [current|multi]`.
//!
//! The runtime has a single thread by default: the cost of a client should not depend on how often threads of a small
//! machine wake each other. Both clients use the same runtime.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

/// The text that every call sends to `echo`, 100 bytes long.
pub const TEXT: &str = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";

/// The error of a call or a connection.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The parsed arguments.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientLoad {
    /// The URL of the server.
    pub url: String,
    at_once: usize,
    time: Duration,
    threads: Threads,
}

#[derive(Debug, Clone, Copy)]
enum Threads {
    Current,
    Multi,
}

impl ClientLoad {
    /// Parses the arguments. Returns `None` if they are invalid.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Option<Self> {
        let arguments: Vec<String> = arguments.into_iter().collect();
        let (url, at_once, seconds, threads) = match arguments.as_slice() {
            [url, at_once, seconds] => (url, at_once, seconds, "current"),
            [url, at_once, seconds, threads] => (url, at_once, seconds, threads.as_str()),
            _ => return None,
        };
        Some(Self {
            url: url.clone(),
            at_once: at_once.parse().ok().filter(|at_once| *at_once > 0)?,
            time: Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?,
            threads: match threads {
                "current" => Threads::Current,
                "multi" => Threads::Multi,
                _ => return None,
            },
        })
    }

    /// Runs the program: parses the arguments, runs, and prints errors to standard error.
    pub fn main(name: &str, run: impl AsyncFnOnce(&Self) -> Result<(), Failure>) -> ExitCode {
        let Some(load) = Self::parse(std::env::args().skip(1)) else {
            eprintln!("usage: {name} URL CONCURRENCY SECONDS [current|multi]");
            return ExitCode::FAILURE;
        };
        let outcome = load
            .runtime()
            .map_err(Failure::from)
            .and_then(|runtime| runtime.block_on(run(&load)));
        match outcome {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                eprintln!("{name}: {failure}");
                ExitCode::FAILURE
            }
        }
    }

    /// Runs this many callers until the time is over, and prints the result.
    ///
    /// # Errors
    /// Returns an error if a call fails, because a failing run is not worth measuring.
    pub async fn run<C: Caller>(
        &self,
        mut caller: impl AsyncFnMut() -> Result<C, Failure>,
    ) -> Result<(), Failure> {
        let mut callers = Vec::new();
        for _ in 0..self.at_once {
            let mut caller = caller().await?;
            // One-time work is not part of a call.
            caller.call().await?;
            callers.push(caller);
        }
        let processor = processor_time();
        let start = Instant::now();
        let mut tasks = JoinSet::new();
        for mut caller in callers {
            let until = start + self.time;
            tasks.spawn(async move {
                let mut calls = 0_u64;
                while Instant::now() < until {
                    caller.call().await?;
                    calls += 1;
                }
                Ok::<_, Failure>(calls)
            });
        }
        let mut calls = 0;
        while let Some(ended) = tasks.join_next().await {
            calls += ended??;
        }
        let seconds = start.elapsed().as_secs_f64();
        let processor = processor_time() - processor;
        let processor = processor.as_secs_f64();
        let line = format!(r#"{{"calls":{calls},"secs":{seconds:.3},"cpu_s":{processor:.6}}}"#);
        Ok(writeln!(io::stdout(), "{line}")?)
    }

    fn runtime(&self) -> io::Result<Runtime> {
        match self.threads {
            Threads::Current => Builder::new_current_thread().enable_all().build(),
            Threads::Multi => Builder::new_multi_thread().enable_all().build(),
        }
    }
}

/// A caller that makes one call after the other.
pub trait Caller: Send + 'static {
    /// Calls `echo` once with [`TEXT`], and checks the result.
    fn call(&mut self) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// Returns the CPU time of all threads of this process so far, user and system time. Returns zero if the system does
/// not report it.
fn processor_time() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    threads
        .filter_map(|thread| {
            let figures = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
            let nanoseconds = figures.split_ascii_whitespace().next()?.parse().ok()?;
            Some(Duration::from_nanos(nanoseconds))
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_a_url_a_concurrency_and_a_duration() {
        let check = |arguments: &str, is_valid: bool| {
            let parsed = ClientLoad::parse(arguments.split(' ').map(str::to_owned));
            assert_eq!(parsed.is_some(), is_valid, "{arguments}");
        };
        check("http://127.0.0.1:1/mcp 32 0.5", true);
        check("http://127.0.0.1:1/mcp 1 2 multi", true);
        check("http://127.0.0.1:1/mcp 1 2 many", false);
        check("http://127.0.0.1:1/mcp 0 2", false);
        check("http://127.0.0.1:1/mcp 1 -2", false);
        check("http://127.0.0.1:1/mcp 1", false);
    }

    #[test]
    fn text_has_100_bytes() {
        assert_eq!(TEXT.len(), 100);
    }
}
