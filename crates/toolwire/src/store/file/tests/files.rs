//! The directory, the lock between processes and the index.

use std::time::SystemTime;

use super::*;
use crate::store::file::process_lock::ProcessLock;

/// A file that a killed process leaves behind is removed, but not one that another process may still write.
#[test]
fn abandoned_files_are_removed() {
    let scratch = Scratch::new();
    scratch.open();
    let incomplete = scratch.directory().join("new-0123.tmp");
    fs::write(&incomplete, "{\"task").unwrap();
    scratch.open();
    assert!(incomplete.exists());
    let old = SystemTime::now() - Duration::from_secs(11 * 60);
    let file = fs::File::options().write(true).open(&incomplete).unwrap();
    file.set_modified(old).unwrap();
    scratch.open();
    assert!(!incomplete.exists());
}

#[tokio::test]
async fn dropped_calls_leave_no_file() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let ann = user("ann");
    store.create("a", &ann, record(), None).await.unwrap();
    // The lock of another process stops the call after its file was written.
    let other = fs::File::open(scratch.directory().join("lock")).unwrap();
    let replaced = tokio::time::timeout(Duration::from_millis(50), async {
        other.lock().unwrap();
        store.replace("a", 1, record()).await
    });
    assert!(replaced.await.is_err());
    other.unlock().unwrap();
    // The next call waits for the calls before.
    store.list(&ann, None, 10).await.unwrap();
    let names = scratch.names();
    assert!(
        names.iter().all(|name| !name.starts_with("new-")),
        "{names:?}"
    );
}

#[test]
fn waiting_for_the_lock_times_out() {
    let scratch = Scratch::new();
    scratch.open();
    let open = || Arc::new(fs::File::open(scratch.directory().join("lock")).unwrap());
    let (one, other) = (open(), open());
    let lock = ProcessLock::acquire(&one, Duration::ZERO).unwrap();
    let error = ProcessLock::acquire(&other, Duration::from_millis(20)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(error.to_string().contains("another process"), "{error}");
    drop(lock);
    ProcessLock::acquire(&other, Duration::ZERO).unwrap();
}

/// A file of several megabytes is not read to search for tasks.
#[tokio::test]
async fn search_reads_only_headers_of_changed_files() {
    let scratch = Scratch::new();
    let (writer, reader) = (scratch.open(), scratch.open());
    let ann = user("ann");
    writer.create("a", &ann, record(), None).await.unwrap();
    let worker = Worker::new("w", ["other tool"]);
    assert_eq!(reader.claim(&worker, LEASE, 10).await.unwrap(), []);
    // Without a counted change, the index is not read again, although the file is damaged.
    fs::write(scratch.task("a"), "damaged").unwrap();
    let mut files = reader.files.lock().await;
    files.refresh().unwrap();
    assert_eq!(files.ids_after(&ann, None, 10, now_ms()), ["a"]);
    drop(files);
    writer.create("b", &ann, record(), None).await.unwrap();
    let mut files = reader.files.lock().await;
    files.refresh().unwrap();
    assert_eq!(files.ids_after(&ann, None, 10, now_ms()), ["b"]);
}

/// Two changes within one tick of the file system's clock, with the same length, are both seen.
#[tokio::test]
async fn changes_with_equal_times_and_lengths_are_seen() {
    let scratch = Scratch::new();
    let (writer, reader) = (scratch.open(), scratch.open());
    let (ann, worker) = (user("ann"), Worker::new("w", ["one"]));
    let named = |tool: &str| {
        let mut record = record();
        record.tool = tool.to_owned();
        record
    };
    writer.create("a", &ann, named("one"), None).await.unwrap();
    let time = SystemTime::now();
    let set_time = || {
        let file = fs::File::options().write(true).open(scratch.task("a"));
        file.unwrap().set_modified(time).unwrap();
    };
    set_time();
    reader.list(&ann, None, 10).await.unwrap();
    let mut two = named("two");
    two.created_at_ms = reader
        .load("a", &ann)
        .await
        .unwrap()
        .unwrap()
        .record
        .created_at_ms;
    two.updated_at_ms = two.created_at_ms;
    writer.replace("a", 1, two).await.unwrap().unwrap();
    set_time();
    assert_eq!(reader.claim(&worker, LEASE, 1).await.unwrap(), []);
    let mut files = reader.files.lock().await;
    files.refresh().unwrap();
    assert_eq!(files.claimable(&["one".to_owned()], now_ms()).len(), 0);
    assert_eq!(files.claimable(&["two".to_owned()], now_ms()).len(), 1);
}

#[tokio::test]
async fn files_of_expired_tasks_are_removed_by_later_calls() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let ann = user("ann");
    let mut past = record();
    past.expires_at_ms = Some(now_ms() - 1);
    for number in 0..3 {
        let id = format!("old-{number}");
        store.create(&id, &ann, past.clone(), None).await.unwrap();
    }
    // Its own file is written last.
    store.create("new", &ann, record(), None).await.unwrap();
    let name = task_file_name("new").unwrap();
    assert_eq!(scratch.names(), ["changes", "lock", &name]);
}

#[cfg(unix)]
mod on_unix {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[tokio::test]
    async fn files_are_readable_by_the_owner_only() {
        let scratch = Scratch::new();
        let store = scratch.open();
        let ann = user("ann");
        store.create("a", &ann, record(), None).await.unwrap();
        store.replace("a", 1, record()).await.unwrap();
        assert_eq!(mode(&scratch.directory()), 0o700);
        assert_eq!(mode(scratch.directory().parent().unwrap()), 0o700);
        assert_eq!(scratch.names().len(), 3);
        for name in scratch.names() {
            assert_eq!(mode(&scratch.directory().join(&name)), 0o600, "{name}");
        }
    }

    #[test]
    fn directory_of_a_store_is_restricted() {
        let scratch = Scratch::new();
        fs::create_dir_all(scratch.directory()).unwrap();
        for _ in 0..2 {
            set_mode(&scratch.directory(), 0o755);
            scratch.open();
            assert_eq!(mode(&scratch.directory()), 0o700);
        }
    }

    #[test]
    fn shared_directory_with_other_files_is_rejected() {
        let scratch = Scratch::new();
        fs::create_dir_all(scratch.directory()).unwrap();
        fs::write(scratch.directory().join("notes.txt"), "").unwrap();
        set_mode(&scratch.directory(), 0o755);
        let error = FileTaskStore::open(scratch.directory()).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("a directory of its own"), "{text}");
        assert!(text.contains("deep/er"), "{text}");
        assert_eq!(mode(&scratch.directory()), 0o755, "it is not changed");
        set_mode(&scratch.directory(), 0o700);
        scratch.open();
    }
}

#[tokio::test]
async fn renewal_overwrites_the_end_of_the_lease() {
    let scratch = Scratch::new();
    let (store, other) = (scratch.open(), scratch.open());
    let worker = Worker::new("worker", ["render"]);
    let owner = Principal::anonymous();
    let lease = Some((&worker, Duration::from_secs(1)));
    store.create("a", &owner, record(), lease).await.unwrap();
    let read = || fs::read(scratch.task("a")).unwrap();
    let before = read();
    // An open file shows whether the file was replaced.
    let mut open = fs::File::open(scratch.task("a")).unwrap();
    assert!(other.renew("a", &worker, LEASE).await.unwrap());
    let after = read();
    assert_ne!(before, after);
    assert_eq!(before.len(), after.len());
    let mut content = Vec::new();
    std::io::Read::read_to_end(&mut open, &mut content).unwrap();
    assert_eq!(content, after, "the file is the same one");
    for store in [&store, &other] {
        let task = store.load("a", &owner).await.unwrap().unwrap();
        assert_eq!((task.owner.as_deref(), task.revision), (Some("worker"), 1));
        let thief = Worker::new("thief", ["render"]);
        assert!(store.claim(&thief, LEASE, 1).await.unwrap().is_empty());
    }
    // The digits of this end need more space, so the file is replaced.
    assert!(store.renew("a", &worker, Duration::MAX).await.unwrap());
    assert_ne!(read().len(), after.len());
    assert!(other.renew("a", &worker, LEASE).await.unwrap());
    assert_eq!(read().len(), after.len());
}

#[tokio::test]
async fn claim_removes_expired_tasks() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let mut expired = record();
    expired.expires_at_ms = Some(1);
    let owner = Principal::anonymous();
    store.create("a", &owner, expired, None).await.unwrap();
    assert!(scratch.task("a").exists());
    let worker = Worker::new("worker", ["other"]);
    assert!(store.claim(&worker, LEASE, 1).await.unwrap().is_empty());
    assert!(!scratch.task("a").exists());
}
