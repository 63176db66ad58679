//! How many files this process, and those it starts from then on, may have open.

use std::io;

/// Makes sure that so many files may be open at once. Where there is no such limit, nothing has to be done.
///
/// # Errors
/// When the machine allows fewer.
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

/// Makes sure that so many files may be open at once. Where there is no such limit, nothing has to be done.
///
/// # Errors
/// Never on this system.
#[cfg(not(unix))]
pub fn allow_open_files(_: u64) -> io::Result<()> {
    Ok(())
}
