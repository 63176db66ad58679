//! The file with the logins of users, which is sealed with a key of the configuration.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolwire::Principal;
use toolwire_auth::documents::Secret;
use toolwire_proto::request_state::{KeyRing, StateKey};

use crate::config::LoginsConfig;
use crate::connect::UserLogins;
use crate::connect::seal::{Seals, now};
use crate::connect::stored::{LoginKey, LoginRecord, LoginTokens, StoredLogins};
use crate::private_file;

/// The maximum size of the logins in a file in bytes. Beyond it, the file stays as it is, and the log has an error.
const MAX_VAULT_BYTES: usize = 64 * 1024 * 1024;

/// The time until a file that could not be written is written again, if no login changes before.
const RETRY_PAUSE: Duration = Duration::from_secs(60);

const PURPOSE: &str = "logins";

/// A file with logins.
#[derive(Debug)]
pub(super) struct Vault {
    path: PathBuf,
    seals: Seals,
    max_bytes: usize,
}

/// A login in a file.
#[derive(Serialize, Deserialize)]
struct SavedLogin {
    caller: String,
    upstream: String,
    url: String,
    values: BTreeMap<String, Secret>,
    /// The scopes that the upstream has required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scopes: Option<String>,
}

impl Vault {
    /// Opens a file, and adds its logins to those in memory. A file that does not exist has none.
    ///
    /// # Errors
    /// Returns an error if the key or the file is not valid, or if the file cannot be replaced. It is not changed then.
    pub(super) fn open(config: &LoginsConfig, stored: &StoredLogins) -> Result<Self, String> {
        let shown = config.file.display();
        let key = StateKey::from_hex(config.key.expose());
        let key = key.ok_or("the key of [logins] does not have 64 hexadecimal digits")?;
        let keys = KeyRing::new(key).with_max_payload(MAX_VAULT_BYTES);
        let vault = Self {
            path: config.file.clone(),
            seals: Seals::with_keys(keys),
            max_bytes: MAX_VAULT_BYTES,
        };
        let failed = |error: io::Error| format!("the file {shown} of [logins]: {error}");
        if let Some(text) = read(&vault.path).map_err(failed)? {
            let saved: Option<Vec<SavedLogin>> = vault.seals.open(PURPOSE, "", text.trim());
            let saved = saved.ok_or_else(|| {
                format!(
                    "the file {shown} of [logins] does not open with this key; use the key that it was written with, or \
                     remove the file, so that users log in again"
                )
            })?;
            for login in saved {
                let key = LoginKey {
                    caller: Principal::from_stored(Some(&login.caller)),
                    upstream: login.upstream,
                    url: login.url,
                };
                let tokens = LoginTokens::new(login.values, stored.changed());
                stored.restore(LoginRecord {
                    key,
                    tokens: Arc::new(tokens),
                    scopes: login.scopes,
                })?;
            }
        }
        private_file::check_replaceable(&vault.path).map_err(failed)?;
        Ok(vault)
    }

    /// Replaces the file by the logins in memory.
    fn write(&self, stored: &StoredLogins) -> Result<(), String> {
        let logins = stored.all().into_iter();
        let saved: Vec<SavedLogin> = logins
            .map(|login| SavedLogin {
                caller: login.key.caller.as_str().unwrap_or_default().to_owned(),
                upstream: login.key.upstream,
                url: login.key.url,
                values: login.tokens.values(),
                scopes: login.scopes,
            })
            .collect();
        let sealed = self
            .seals
            .seal(PURPOSE, "", &saved, (now(), Duration::MAX))?;
        if sealed.len() > self.max_bytes {
            return Err(format!("it would have more than {} bytes", self.max_bytes));
        }
        let written = private_file::replace(&self.path, sealed.as_bytes());
        written.map_err(|error| error.to_string())
    }
}

/// Reads a file, if it exists.
fn read(path: &Path) -> io::Result<Option<String>> {
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(MAX_VAULT_BYTES as u64 + 1)
        .read_to_string(&mut text)?;
    if text.len() > MAX_VAULT_BYTES {
        let message = format!("it has more than {MAX_VAULT_BYTES} bytes");
        return Err(io::Error::other(message));
    }
    Ok(Some(text))
}

impl UserLogins {
    /// Writes the file after each change, until the gateway is dropped. A failed write is repeated, because the file may have
    /// tokens that are not valid any more.
    pub(super) async fn write_changes(logins: Weak<Self>, vault: Arc<Vault>) {
        let Some(changed) = logins
            .upgrade()
            .map(|logins| Arc::clone(logins.stored.changed()))
        else {
            return;
        };
        let mut is_written = true;
        loop {
            if is_written {
                changed.notified().await;
            } else {
                // After the pause, the same logins are written again.
                let _ = tokio::time::timeout(RETRY_PAUSE, changed.notified()).await;
            }
            let Some(logins) = logins.upgrade() else {
                return;
            };
            is_written = logins.save(&vault).await;
        }
    }

    /// Writes the file now.
    pub(crate) async fn flush(self: &Arc<Self>) {
        if let Some(vault) = self.vault.get() {
            self.save(vault).await;
        }
    }

    /// Writes the file. Returns `false` if it could not be written.
    async fn save(self: &Arc<Self>, vault: &Arc<Vault>) -> bool {
        // One write at a time, with the newest logins. A write whose caller is dropped goes on, and so does its lock.
        let writing = Arc::clone(&self.writing).lock_owned().await;
        let (logins, vault) = (Arc::clone(self), Arc::clone(vault));
        let written = tokio::task::spawn_blocking(move || {
            let _writing = writing;
            vault.write(&logins.stored)
        });
        let written = written.await;
        let written = written.unwrap_or_else(|error| Err(error.to_string()));
        if let Err(error) = &written {
            tracing::error!(%error, "the file of [logins] could not be written");
        }
        written.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use toolwire::TokenInfo;
    use toolwire_auth::client::TokenStore as _;

    use super::*;
    use crate::scratch::Scratch;

    fn config(scratch: &Scratch, digit: &str) -> LoginsConfig {
        LoginsConfig {
            file: scratch.path("logins"),
            key: Secret::new(digit.repeat(64)),
        }
    }

    fn key(name: &str) -> LoginKey {
        LoginKey {
            caller: Principal::of(&TokenInfo::verified().with_subject(name)),
            upstream: "files".to_owned(),
            url: "https://files.example.com/mcp".to_owned(),
        }
    }

    fn tokens(text: &str) -> Arc<LoginTokens> {
        let values = BTreeMap::from([("token".to_owned(), Secret::new(text))]);
        Arc::new(LoginTokens::new(values, &Arc::default()))
    }

    #[tokio::test]
    async fn file_has_all_logins_and_opens_with_its_key_only() {
        let scratch = Scratch::new("vault");
        let stored = StoredLogins::default();
        let vault = Vault::open(&config(&scratch, "a"), &stored).unwrap();
        for name in ["zoe", "ann"] {
            stored
                .insert(key(name), tokens(&format!("secret of {name}")))
                .unwrap();
        }
        let number = stored.get(&key("ann")).unwrap().number;
        assert!(stored.require_scopes(&key("ann"), number, "write"));
        vault.write(&stored).unwrap();
        let text = std::fs::read_to_string(scratch.path("logins")).unwrap();
        assert!(!text.contains("secret") && !text.contains("ann"), "{text}");

        let read = StoredLogins::default();
        Vault::open(&config(&scratch, "a"), &read).unwrap();
        let ann = read.get(&key("ann")).expect("it was written");
        let token = ann.tokens.get("token").await.unwrap();
        assert_eq!(token, Some(Secret::new("secret of ann")));
        // The file does not state that the login lacks them. The upstream rejects it again if it does.
        assert_eq!(read.required_scopes(&key("ann")).as_deref(), Some("write"));
        assert!(!read.lacks_scopes(&key("ann")));
        // The user who logged in first still reads the lists.
        let reader = read.reader("files", "https://files.example.com/mcp");
        assert_eq!(reader, Some(key("zoe")));

        let error = Vault::open(&config(&scratch, "b"), &read).unwrap_err();
        assert!(error.contains("does not open with this key"), "{error}");
        assert_eq!(
            std::fs::read_to_string(scratch.path("logins")).unwrap(),
            text
        );
        let error = Vault::open(&config(&scratch, "x"), &read).unwrap_err();
        assert!(error.contains("64 hexadecimal digits"), "{error}");

        let file = std::fs::File::create(scratch.path("logins")).unwrap();
        file.set_len(MAX_VAULT_BYTES as u64 + 1).unwrap();
        let error = Vault::open(&config(&scratch, "a"), &read).unwrap_err();
        assert!(error.contains("more than 67108864 bytes"), "{error}");
    }

    #[tokio::test]
    async fn task_that_writes_the_file_ends_with_its_gateway() {
        let scratch = Scratch::new("vault");
        let logins = Arc::new(UserLogins::new().unwrap());
        let vault = Vault::open(&config(&scratch, "a"), &logins.stored).unwrap();
        let writing = UserLogins::write_changes(Arc::downgrade(&logins), Arc::new(vault));
        let writing = tokio::spawn(writing);
        // The task waits for a change.
        tokio::task::yield_now().await;
        drop(logins);
        let ended = tokio::time::timeout(Duration::from_secs(60), writing).await;
        ended.expect("it does not wait any more").unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn failed_write_is_repeated_without_another_change() {
        let scratch = Scratch::new("vault-repeated");
        let logins = Arc::new(UserLogins::new().unwrap());
        let vault = Vault::open(&config(&scratch, "a"), &logins.stored).unwrap();
        // A directory cannot be replaced by a file.
        std::fs::create_dir(scratch.path("logins")).unwrap();
        let writing = UserLogins::write_changes(Arc::downgrade(&logins), Arc::new(vault));
        tokio::spawn(writing);
        logins.stored.insert(key("ann"), tokens("a")).unwrap();
        // The paused time passes when the first attempt has ended.
        tokio::time::sleep(RETRY_PAUSE / 2).await;
        std::fs::remove_dir(scratch.path("logins")).unwrap();
        tokio::time::sleep(RETRY_PAUSE).await;
        let read = StoredLogins::default();
        Vault::open(&config(&scratch, "a"), &read).unwrap();
        assert!(read.contains(&key("ann")));
    }

    #[test]
    fn file_that_would_be_too_large_stays_as_it_is() {
        let scratch = Scratch::new("vault");
        let stored = StoredLogins::default();
        let mut vault = Vault::open(&config(&scratch, "a"), &stored).unwrap();
        stored.insert(key("ann"), tokens("a")).unwrap();
        vault.write(&stored).unwrap();
        let text = std::fs::read_to_string(scratch.path("logins")).unwrap();
        vault.max_bytes = text.len();
        vault.write(&stored).unwrap();
        stored.insert(key("bob"), tokens("a")).unwrap();
        let error = vault.write(&stored).unwrap_err();
        assert!(error.contains("more than"), "{error}");
        let read = StoredLogins::default();
        Vault::open(&config(&scratch, "a"), &read).unwrap();
        assert!(read.contains(&key("ann")) && !read.contains(&key("bob")));
    }
}
