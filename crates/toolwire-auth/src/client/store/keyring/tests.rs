//! Tests over a keyring in memory. No system keyring is used, because few test machines have one.

use std::sync::mpsc;

use keyring_core::mock;

use super::chunks::{CHUNK_BYTES, LONGEST_NAME};
use super::*;
use crate::client::contract;

/// A keyring in memory, and a directory for the locks that is removed on drop.
struct Scratch {
    keyring: Arc<CredentialStore>,
    directory: PathBuf,
}

impl Scratch {
    fn new() -> Self {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).unwrap();
        let name = format!("toolwire-keyring-{:016x}", u64::from_le_bytes(bytes));
        Self {
            keyring: mock::Store::new().unwrap(),
            directory: std::env::temp_dir().join(name),
        }
    }

    fn store(&self) -> KeyringTokenStore {
        let keyring = Arc::clone(&self.keyring);
        let open = move || Ok(Arc::clone(&keyring));
        KeyringTokenStore::with_keyring("tests".to_owned(), self.directory.clone(), open)
    }

    fn entry(&self, name: &str) -> keyring_core::Entry {
        self.keyring.build("tests", name, None).unwrap()
    }

    /// Returns the lengths of all stored secrets.
    fn lengths(&self) -> Vec<usize> {
        let entries = self.keyring.search(&std::collections::HashMap::new());
        let entries = entries.unwrap().into_iter();
        entries
            .filter_map(|entry| entry.get_secret().ok())
            .map(|secret| secret.len())
            .collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

#[tokio::test]
async fn store_meets_the_contract() {
    let scratch = Scratch::new();
    contract::token_store(async || Arc::new(scratch.store())).await;
    assert!(scratch.lengths().is_empty(), "no entry remains");
}

#[tokio::test]
async fn entries_stay_within_the_limit_of_windows() {
    let scratch = Scratch::new();
    let store = scratch.store();
    for (length, entries) in [
        (0, 1),
        (CHUNK_BYTES, 1),
        (CHUNK_BYTES + 1, 2),
        (CHUNK_BYTES * 3, 3),
    ] {
        let value = "x".repeat(length);
        store.put("a", &value.as_str().into()).await.unwrap();
        assert_eq!(store.get("a").await.unwrap(), Some(value.into()));
        let lengths = scratch.lengths();
        assert_eq!(
            lengths.len(),
            entries,
            "the chunks of older values are removed"
        );
        assert!(lengths.iter().all(|length| *length <= 2560), "{lengths:?}");
    }
}

#[tokio::test]
async fn shortened_names_stay_unique() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let longest = "n".repeat(LONGEST_NAME);
    let (one, two) = (format!("{longest}1"), format!("{longest}2"));
    for name in [&longest, &one, &two] {
        store.put(name, &name.as_str().into()).await.unwrap();
    }
    for name in [&longest, &one, &two] {
        assert_eq!(store.get(name).await.unwrap(), Some(name.as_str().into()));
    }
    let entries = scratch.keyring.search(&std::collections::HashMap::new());
    for entry in entries.unwrap() {
        let (_, name) = entry.get_specifiers().unwrap();
        assert!(name.len() <= LONGEST_NAME, "{name}");
    }
}

/// A keyring without space for new entries. Existing entries can be changed.
#[derive(Debug)]
struct Full(Arc<CredentialStore>);

impl keyring_core::api::CredentialStoreApi for Full {
    fn vendor(&self) -> String {
        self.0.vendor()
    }

    fn id(&self) -> String {
        self.0.id()
    }

    fn build(
        &self,
        service: &str,
        user: &str,
        modifiers: Option<&std::collections::HashMap<&str, &str>>,
    ) -> keyring_core::Result<keyring_core::Entry> {
        let entry = self.0.build(service, user, modifiers)?;
        match entry.get_secret() {
            Err(KeyringError::NoEntry) => Err(KeyringError::TooLong("keyring".to_owned(), 0)),
            _ => Ok(entry),
        }
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

#[tokio::test]
async fn failed_write_preserves_the_old_value() {
    let scratch = Scratch::new();
    let old = Secret::from("o".repeat(CHUNK_BYTES * 2));
    scratch.store().put("a", &old).await.unwrap();
    let keyring: Arc<CredentialStore> = Arc::new(Full(Arc::clone(&scratch.keyring)));
    let open = move || Ok(Arc::clone(&keyring));
    let directory = scratch.directory.clone();
    let full = KeyringTokenStore::with_keyring("tests".to_owned(), directory, open);
    let new = Secret::from("n".repeat(CHUNK_BYTES * 3));
    full.put("a", &new).await.unwrap_err();
    assert_eq!(scratch.store().get("a").await.unwrap(), Some(old));
    assert_eq!(
        scratch.lengths().len(),
        2,
        "no chunk of the new value remains"
    );
}

#[tokio::test]
async fn error_names_an_invalid_entry() {
    let scratch = Scratch::new();
    let store = scratch.store();
    for content in ["s3cret", "+", "+x y\ns3cret", "+1 id\ns3cret", "=\u{e9}"] {
        let mut bytes = content.as_bytes().to_vec();
        if content.starts_with('=') {
            // Half a UTF-8 character.
            bytes.pop();
        }
        scratch.entry("a").set_secret(&bytes).unwrap();
        let error = store.get("a").await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("\"a\""), "{text}");
        assert!(text.contains("log in again"), "{text}");
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }
    store.put("a", &"new".into()).await.unwrap();
    assert_eq!(store.get("a").await.unwrap(), Some("new".into()));
}

#[tokio::test]
async fn keyring_errors_contain_no_secret() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let entry = scratch.entry("a");
    let credential: &mock::Cred = entry.as_any().downcast_ref().unwrap();
    credential.set_error(KeyringError::BadDataFormat(
        b"s3cret".to_vec(),
        "not what was put there".into(),
    ));
    let error = store.get("a").await.unwrap_err();
    assert!(
        error.to_string().contains("not what was put there"),
        "{error}"
    );
    let shown = format!("{error:?}");
    assert!(
        !shown.contains("s3cret") && !shown.contains("115, 51"),
        "{shown}"
    );
}

#[tokio::test]
async fn unavailable_keyring_is_opened_again() {
    let scratch = Scratch::new();
    let keyring = Arc::clone(&scratch.keyring);
    let attempts = std::sync::atomic::AtomicUsize::new(0);
    let open = move || match attempts.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => Err(KeyringError::NoStorageAccess("no bus".into())),
        1 => Ok(Arc::clone(&keyring)),
        _ => panic!("it is opened once"),
    };
    let directory = scratch.directory.clone();
    let store = KeyringTokenStore::with_keyring("tests".to_owned(), directory, open);
    let text = store.get("a").await.unwrap_err().to_string();
    assert!(text.contains("no bus"), "{text}");
    assert!(text.contains("store tokens in a file"), "{text}");
    assert_eq!(store.get("a").await.unwrap(), None);
    assert_eq!(store.get("a").await.unwrap(), None);
}

#[tokio::test]
async fn unresponsive_keyring_times_out() {
    let scratch = Scratch::new();
    let keyring = Arc::clone(&scratch.keyring);
    let (unlock, locked) = mpsc::channel::<()>();
    let locked = std::sync::Mutex::new(locked);
    let open = move || {
        let _ = locked.lock().unwrap().recv();
        Ok(Arc::clone(&keyring))
    };
    let directory = scratch.directory.clone();
    let store = KeyringTokenStore::with_keyring("tests".to_owned(), directory, open)
        .with_lock_timeout(Duration::from_millis(20));
    let text = store.get("a").await.unwrap_err().to_string();
    assert!(text.contains("within 0.02 s"), "{text}");
    assert!(text.contains("unlocked"), "{text}");
    drop(unlock);
}

#[tokio::test]
async fn services_are_isolated() {
    let scratch = Scratch::new();
    let store = scratch.store();
    store.put("a", &"one".into()).await.unwrap();
    let keyring = Arc::clone(&scratch.keyring);
    let open = move || Ok(Arc::clone(&keyring));
    let directory = scratch.directory.clone();
    let other = KeyringTokenStore::with_keyring("others".to_owned(), directory, open);
    assert_eq!(other.get("a").await.unwrap(), None);
    let _lock = store.lock("a").await.unwrap();
    other.lock("a").await.unwrap();
}
