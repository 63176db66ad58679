//! Sets how many files this process, and its later child processes, may open.

use std::io;

/// Ensures that this many files may be open at once. Without such a limit, it does nothing.
///
/// # Errors
/// Returns an error if the machine permits fewer.
#[cfg(unix)]
pub fn allow_open_files(wanted: u64) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    if let Some(hard) = limit.maximum.filter(|hard| *hard < wanted) {
        return Err(io::Error::other(format!(
            "{wanted} open files are needed, {hard} are allowed: raise the hard limit (`ulimit -Hn`)"
        )));
    }
    let raised = Rlimit {
        current: Some(wanted),
        maximum: limit.maximum,
    };
    Ok(setrlimit(Resource::Nofile, raised)?)
}

/// Ensures that this many files may be open at once. Without such a limit, it does nothing.
///
/// # Errors
/// Never returns an error on this system.
#[cfg(not(unix))]
pub fn allow_open_files(_: u64) -> io::Result<()> {
    Ok(())
}
