use std::path::PathBuf;

use super::*;
use crate::client::contract;

/// A temporary directory that is removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).unwrap();
        let name = format!("toolwire-tokens-{:016x}", u64::from_le_bytes(bytes));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// Returns a path whose directory does not exist yet.
    fn file(&self) -> PathBuf {
        self.0.join("deep/er/tokens.json")
    }

    fn store(&self) -> FileTokenStore {
        FileTokenStore::new(self.file())
    }

    /// Creates a directory with a token file of this content.
    fn with(content: &[u8]) -> Self {
        let scratch = Self::new();
        fs::create_dir_all(scratch.file().parent().unwrap()).unwrap();
        fs::write(scratch.file(), content).unwrap();
        scratch
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn put(store: &FileTokenStore, name: &str, value: &str) {
    store.put(name, &value.into()).await.unwrap();
}

#[tokio::test]
async fn store_meets_the_contract() {
    let scratch = Scratch::new();
    contract::token_store(async || Arc::new(scratch.store())).await;
}

#[tokio::test]
async fn reading_creates_no_file() {
    let scratch = Scratch::new();
    let store = scratch.store();
    assert_eq!(store.get("a").await.unwrap(), None);
    store.remove("a").await.unwrap();
    assert!(!store.path().exists());
}

/// Checks that invalid content returns an error with a remedy and that the file stays unchanged.
async fn check_rejected(content: &[u8], part: &str) {
    let scratch = Scratch::with(content);
    let store = scratch.store();
    let path = store.path().display().to_string();
    let outcomes = [
        store.get("a").await.map(drop),
        store.put("a", &"value".into()).await,
        store.remove("a").await,
    ];
    for outcome in outcomes {
        let error = outcome.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&path), "{text}");
        assert!(text.contains(part), "{text}");
        assert!(text.contains("log in again"), "{text}");
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }
    assert_eq!(fs::read(store.path()).unwrap(), content);
}

#[tokio::test]
async fn invalid_file_is_never_overwritten() {
    check_rejected(b"", "damaged at line 1, column 0").await;
    check_rejected(b"{\"toolwire_tokens\": 1, \"val", "damaged at line 1").await;
    check_rejected(
        b"{\"toolwire_tokens\": 1, \"values\": \"s3cret\"}",
        "damaged",
    )
    .await;
    check_rejected(b"{\"toolwire_tokens\": \"s3cret\"}", "damaged").await;
    check_rejected(b"{\"name\": \"s3cret\"}", "is not a token file").await;
    check_rejected(b"\xff\xfe", "damaged").await;
    check_rejected(b"{\"toolwire_tokens\": 2, \"pairs\": []}", "newer version").await;
}

#[tokio::test]
async fn incomplete_new_file_is_replaced() {
    let scratch = Scratch::new();
    let store = scratch.store();
    put(&store, "a", "one").await;
    let new = store.path().with_file_name("tokens.json.new");
    fs::write(&new, "{\"toolw").unwrap();
    assert_eq!(store.get("a").await.unwrap(), Some("one".into()));
    put(&store, "a", "two").await;
    assert_eq!(store.get("a").await.unwrap(), Some("two".into()));
    assert!(!new.exists());
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_lock_times_out() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let lock = store.lock("a").await.unwrap();
    let start = tokio::time::Instant::now();
    let text = store.lock("a").await.unwrap_err().to_string();
    let waited = start.elapsed();
    assert!(text.contains("for 60 s"), "{text}");
    assert!(text.contains(".lock"), "{text}");
    assert!(waited >= Duration::from_secs(60), "{waited:?}");
    assert!(waited < Duration::from_secs(61), "{waited:?}");
    let short = store.clone().with_lock_timeout(Duration::from_secs(1));
    let text = short.lock("a").await.unwrap_err().to_string();
    assert!(text.contains("for 1 s"), "{text}");
    drop(lock);
    store.lock("a").await.unwrap();
    let unlimited = store.with_lock_timeout(Duration::MAX);
    unlimited.lock("a").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_file_lock_times_out() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let lock = lock_file::acquire(store.lock_path(""), Duration::ZERO);
    let _lock = lock.await.unwrap();
    let text = store.put("a", &"one".into()).await.unwrap_err().to_string();
    assert!(text.contains("for 60 s"), "{text}");
    assert_eq!(store.get("a").await.unwrap(), None, "reading needs no lock");
}

#[cfg(unix)]
mod on_unix {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[tokio::test]
    async fn files_are_readable_by_the_owner_only() {
        let scratch = Scratch::new();
        let store = scratch.store();
        put(&store, "a", "one").await;
        let _lock = store.lock("a").await.unwrap();
        let directory = store.path().parent().unwrap();
        assert_eq!(mode(directory), 0o700);
        assert_eq!(mode(directory.parent().unwrap()), 0o700);
        let mut count = 0;
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!(mode(&path), 0o600, "{}", path.display());
            count += 1;
        }
        assert_eq!(count, 3, "the file and two locks");
    }

    #[tokio::test]
    async fn reading_restricts_permissions_that_are_too_wide() {
        let scratch = Scratch::new();
        let store = scratch.store();
        put(&store, "a", "one").await;
        fs::set_permissions(store.path(), fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(store.get("a").await.unwrap(), Some("one".into()));
        assert_eq!(mode(store.path()), 0o600);
    }

    #[tokio::test]
    async fn symbolic_links_are_rejected() {
        let scratch = Scratch::new();
        let target = scratch.0.join("elsewhere");
        let store = FileTokenStore::new(scratch.0.join("tokens.json"));
        symlink(&target, store.path()).unwrap();
        let text = store.put("a", &"one".into()).await.unwrap_err().to_string();
        assert!(text.contains("symbolic link"), "{text}");
        assert!(!target.exists());
        fs::remove_file(store.path()).unwrap();
        // The same applies to the new file and the lock file.
        symlink(&target, store.path().with_file_name("tokens.json.new")).unwrap();
        put(&store, "a", "one").await;
        symlink(&target, store.lock_path("lock of b")).unwrap();
        let text = store.lock("b").await.unwrap_err().to_string();
        assert!(text.contains("symbolic link"), "{text}");
        assert!(!target.exists());
    }

    #[tokio::test]
    async fn non_regular_file_is_rejected() {
        let scratch = Scratch::new();
        let store = FileTokenStore::new(scratch.0.join("tokens.json"));
        let created = std::process::Command::new("mkfifo")
            .arg(store.path())
            .status();
        assert!(created.unwrap().success());
        let text = store.get("a").await.unwrap_err().to_string();
        assert!(text.contains("not a regular file"), "{text}");
    }

    #[tokio::test]
    async fn error_names_a_directory_that_cannot_be_created() {
        let scratch = Scratch::with(b"");
        // A file at the path of a directory also stops a privileged user.
        let store = FileTokenStore::new(scratch.file().join("tokens.json"));
        let text = store.put("a", &"one".into()).await.unwrap_err().to_string();
        assert!(
            text.contains(&scratch.file().display().to_string()),
            "{text}"
        );
    }
}
