//! File locks for all processes of a machine. The system releases them when their process ends.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use crate::client::store::{TokenStoreError, private_file};
use crate::clock::deadline_after;

/// The default time to wait for a lock.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The first pause between two attempts. Each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(5);

/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Waits for the lock of a file, up to a timeout. The lock is held until the file is dropped.
///
/// The function polls, because a blocking lock call of the system can be neither cancelled nor limited in time.
pub(super) async fn acquire(path: PathBuf, timeout: Duration) -> Result<File, TokenStoreError> {
    let deadline = deadline_after(Instant::now(), timeout);
    let path_text = path.display().to_string();
    let mut file = blocking(&path_text, move || open(&path)).await?;
    let mut pause = FIRST_PAUSE;
    loop {
        let is_locked;
        (file, is_locked) = blocking(&path_text, move || {
            let is_locked = match file.try_lock() {
                Ok(()) => true,
                Err(TryLockError::WouldBlock) => false,
                Err(TryLockError::Error(error)) => return Err(error),
            };
            Ok((file, is_locked))
        })
        .await?;
        if is_locked {
            return Ok(file);
        }
        if Instant::now() >= deadline {
            return Err(TokenStoreError::new(format!(
                "another process has held {path_text} for {} s; it may be waiting for a login: finish the login, or end the process",
                timeout.as_secs_f64()
            )));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Returns the path of a lock file beside another file. A name of any length gets a short file name.
///
/// Two names may share a file, because FNV-1a is short. They then only wait for each other. The digest needs no
/// secrecy.
pub(super) fn path_beside(path: &Path, name: &str) -> PathBuf {
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
    path_text: &str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, TokenStoreError> {
    let result = tokio::task::spawn_blocking(work).await;
    let result = result.map_err(io::Error::other).flatten();
    result.map_err(|error| {
        TokenStoreError::new(format!("cannot use the lock {path_text}: {error}")).with_source(error)
    })
}
