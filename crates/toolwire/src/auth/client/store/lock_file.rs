//! Locks that all processes of a machine respect. They end with the process that holds them, however it ends.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use crate::auth::client::store::{TokenStoreError, private_file};
use crate::engine::deadline_after;

/// How long a lock is waited for, unless told otherwise.
pub(super) const DEFAULT_WAIT: Duration = Duration::from_secs(60);

/// How long the first pause between two attempts is; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(5);

/// How long a pause is at most.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Waits for the lock of a file, but not forever. It is held until the file is dropped.
///
/// The system could wait for us, but nothing could end that: not a deadline, and not a caller who gives up.
pub(super) async fn acquire(path: PathBuf, wait: Duration) -> Result<File, TokenStoreError> {
    let end = deadline_after(Instant::now(), wait);
    let shown = path.display().to_string();
    let mut file = blocking(&shown, move || open(&path)).await?;
    let mut pause = FIRST_PAUSE;
    loop {
        let outcome;
        (file, outcome) = blocking(&shown, move || {
            let outcome = match file.try_lock() {
                Ok(()) => true,
                Err(TryLockError::WouldBlock) => false,
                Err(TryLockError::Error(error)) => return Err(error),
            };
            Ok((file, outcome))
        })
        .await?;
        if outcome {
            return Ok(file);
        }
        if Instant::now() >= end {
            return Err(TokenStoreError::new(format!(
                "another process has held {shown} for {} s; it may be waiting for somebody to log in: finish that, or end it",
                wait.as_secs_f64()
            )));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// The file of a lock beside another file; a name of any length gets a short one.
///
/// Two names may share a file (FNV-1a is short, and no secret is in it): then they only wait for each other.
pub(super) fn beside(path: &Path, name: &str) -> PathBuf {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut file = path.file_name().unwrap_or_default().to_owned();
    file.push(format!(".{hash:016x}.lock"));
    path.with_file_name(file)
}

fn open(path: &Path) -> io::Result<File> {
    private_file::create_directory_of(path)?;
    let mut options = File::options();
    private_file::open(options.write(true).create(true).truncate(false), path)
}

async fn blocking<T: Send + 'static>(
    shown: &str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, TokenStoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(io::Error::other).flatten();
    done.map_err(|error| {
        TokenStoreError::new(format!("the lock {shown} cannot be used: {error}")).with_source(error)
    })
}
