//! Detects changes of files.
//!
//! The files are polled. Notifications of the operating system differ between systems, do not arrive for directories of
//! networks and containers, and would add ten crates. Reading the state of 1000 files takes a few milliseconds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use crate::screen::Screen;

/// The shortest and the longest time between two polls.
const MIN_INTERVAL: Duration = Duration::from_millis(100);
const MAX_INTERVAL: Duration = Duration::from_secs(2);

/// A poll takes at most one part of this many of the time.
const INTERVAL_PER_POLL: u32 = 20;

/// How long the files must stay unchanged after a change. An editor may write several files.
const QUIET_TIME: Duration = Duration::from_millis(150);

/// How long a change waits for the end of further changes. A program may write a file all the time.
const MAX_QUIET_WAIT: Duration = Duration::from_secs(2);

/// The maximum number of watched files.
const MAX_FILES: usize = 10_000;

/// The maximum depth of watched directories.
const MAX_DEPTH: usize = 64;

/// Directories that contain results and not sources. Hidden files and directories are left out, too.
const IGNORED: [&str; 2] = ["target", "node_modules"];

/// The ends of the names of files that are not sources: records of this command, and the copies of editors.
const IGNORED_ENDS: [&str; 2] = [".mcplog", "~"];

/// The watched files, with what changes when they are written.
#[derive(Debug, Clone, Default, PartialEq)]
struct Files {
    files: BTreeMap<PathBuf, FileState>,
    /// Whether there are more files than the limit.
    is_limited: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct FileState {
    modified: Option<SystemTime>,
    bytes: u64,
}

/// Watches files and directories.
#[derive(Debug)]
pub(super) struct Watcher {
    paths: Arc<[PathBuf]>,
    seen: Files,
    interval: Duration,
}

impl Watcher {
    /// Starts to watch. Directories are watched with all directories in them.
    pub(super) async fn new(paths: &[PathBuf], screen: &Screen) -> Self {
        let mut watcher = Self {
            paths: paths.into(),
            seen: Files::default(),
            interval: MIN_INTERVAL,
        };
        watcher.seen = watcher.poll().await;
        if watcher.seen.is_limited {
            screen.warn(&format!(
                "only the first {MAX_FILES} files are watched; watch smaller directories"
            ));
        }
        watcher
    }

    /// Waits until a file has changed since the last look, and no file changes for a short time. Returns the changed files.
    ///
    /// # Cancellation
    /// If the future is dropped, the next look finds the same changes.
    pub(super) async fn changed(&mut self) -> BTreeSet<PathBuf> {
        if self.paths.is_empty() {
            return std::future::pending().await;
        }
        loop {
            tokio::time::sleep(self.interval).await;
            let changed = self.changed_so_far().await;
            if !changed.is_empty() {
                return changed;
            }
        }
    }

    /// Returns the files that have changed since the last look. If there are some, it waits until no file changes for a
    /// short time, and at most `MAX_QUIET_WAIT`.
    pub(super) async fn changed_so_far(&mut self) -> BTreeSet<PathBuf> {
        let mut found = self.poll().await;
        if found == self.seen {
            return BTreeSet::new();
        }
        let limit = Instant::now() + MAX_QUIET_WAIT;
        loop {
            tokio::time::sleep(QUIET_TIME).await;
            let next = self.poll().await;
            let is_quiet = next == found;
            found = next;
            if is_quiet || Instant::now() >= limit {
                break;
            }
        }
        let changed = found.changed_since(&self.seen);
        self.seen = found;
        changed
    }

    async fn poll(&mut self) -> Files {
        let (paths, start) = (Arc::clone(&self.paths), Instant::now());
        let reading = tokio::task::spawn_blocking(move || Files::read(&paths, MAX_FILES));
        // Without a result, nothing has changed.
        let files = reading.await.unwrap_or_else(|_| self.seen.clone());
        let interval = start.elapsed() * INTERVAL_PER_POLL;
        self.interval = interval.clamp(MIN_INTERVAL, MAX_INTERVAL);
        files
    }
}

impl Files {
    fn read(paths: &[PathBuf], limit: usize) -> Self {
        let mut files = Self::default();
        for path in paths {
            files.add(path, limit, 0);
        }
        files
    }

    /// Returns the files that are new, written or removed since an earlier look.
    fn changed_since(&self, earlier: &Self) -> BTreeSet<PathBuf> {
        let is_changed =
            |(path, state): &(&PathBuf, &FileState)| earlier.files.get(*path) != Some(*state);
        let written = self.files.iter().filter(is_changed).map(|(path, _)| path);
        let is_removed = |path: &&PathBuf| !self.files.contains_key(*path);
        let removed = earlier.files.keys().filter(is_removed);
        written.chain(removed).cloned().collect()
    }

    /// Adds a file, or the files of a directory.
    fn add(&mut self, path: &Path, limit: usize, depth: usize) {
        // A path of the command line may be a link. Others could lead to a circle.
        let metadata = if depth == 0 {
            std::fs::metadata(path)
        } else {
            std::fs::symlink_metadata(path)
        };
        let Ok(metadata) = metadata else {
            return;
        };
        if !metadata.is_dir() {
            if self.files.len() >= limit {
                self.is_limited = true;
                return;
            }
            let state = FileState {
                modified: metadata.modified().ok(),
                bytes: metadata.len(),
            };
            self.files.insert(path.to_path_buf(), state);
            return;
        }
        if depth >= MAX_DEPTH {
            self.is_limited = true;
            return;
        }
        let Ok(entries) = std::fs::read_dir(path) else {
            return;
        };
        for entry in entries.flatten() {
            if self.is_limited {
                return;
            }
            if !is_ignored(&entry.file_name().to_string_lossy()) {
                self.add(&entry.path(), limit, depth + 1);
            }
        }
    }
}

/// Returns `true` for results of builds, hidden files, records, and the copies of editors.
fn is_ignored(name: &str) -> bool {
    let has_ignored_end = IGNORED_ENDS.iter().any(|end| name.ends_with(end));
    name.starts_with('.') || has_ignored_end || IGNORED.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory that is removed on drop.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Self {
            let name = format!("toolwire-dev-watch-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = std::fs::remove_dir_all(&path);
            std::fs::create_dir_all(&path).expect("a directory");
            Self(path)
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.0.join(name);
            let parent = path.parent().expect("a directory");
            std::fs::create_dir_all(parent).expect("a directory");
            std::fs::write(path, text).expect("a file");
        }

        fn read(&self, limit: usize) -> Files {
            Files::read(std::slice::from_ref(&self.0), limit)
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn written_new_and_removed_files_are_changes() {
        let directory = Directory::new("changes");
        directory.write("src/a.rs", "a");
        let first = directory.read(10);
        assert_eq!(directory.read(10), first);
        let (a, b) = (
            directory.0.join("src/a.rs"),
            directory.0.join("src/deep/b.rs"),
        );
        let check = |earlier: &Files, later: &Files, expected: &PathBuf| {
            let expected = BTreeSet::from([expected.clone()]);
            assert_eq!(later.changed_since(earlier), expected);
        };
        directory.write("src/a.rs", "ab");
        let written = directory.read(10);
        check(&first, &written, &a);
        directory.write("src/deep/b.rs", "");
        let added = directory.read(10);
        check(&written, &added, &b);
        std::fs::remove_file(&b).expect("a file");
        let removed = directory.read(10);
        check(&added, &removed, &b);
        assert_eq!(removed, written);
    }

    #[tokio::test]
    async fn each_change_is_reported_once_also_after_a_dropped_wait() {
        let directory = Directory::new("once");
        directory.write("a.rs", "a");
        let screen = Screen::new(false, crate::output_arguments::Colour::Never);
        let mut watcher = Watcher::new(std::slice::from_ref(&directory.0), &screen).await;
        assert_eq!(watcher.changed_so_far().await, BTreeSet::new());
        directory.write("a.rs", "ab");
        drop(tokio::time::timeout(Duration::ZERO, watcher.changed()).await);
        let expected = BTreeSet::from([directory.0.join("a.rs")]);
        assert_eq!(watcher.changed().await, expected);
        assert_eq!(watcher.changed_so_far().await, BTreeSet::new());
    }

    /// Writes a file this many times, with pauses between, while a watcher looks. Returns how long the look took.
    async fn look_while_writing(name: &str, writes: usize, pause: Duration) -> Duration {
        let directory = Directory::new(name);
        directory.write("a.rs", "");
        let screen = Screen::new(false, crate::output_arguments::Colour::Never);
        let mut watcher = Watcher::new(std::slice::from_ref(&directory.0), &screen).await;
        // Each text has another length, so that the time stamps of the file system do not matter.
        directory.write("a.rs", "x");
        let writing = async {
            for length in 2..=writes {
                tokio::time::sleep(pause).await;
                directory.write("a.rs", &"x".repeat(length));
            }
            std::future::pending::<()>().await;
        };
        let start = Instant::now();
        let changed = tokio::select! {
            changed = watcher.changed_so_far() => changed,
            () = writing => BTreeSet::new(),
        };
        assert_eq!(changed, BTreeSet::from([directory.0.join("a.rs")]));
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn change_is_reported_after_150_ms_without_another_one() {
        let pause = Duration::from_millis(100);
        let quiet = Duration::from_millis(150);
        assert_eq!(look_while_writing("quiet-1", 1, pause).await, quiet);
        // The last of 4 writes is after 300 ms. The looks are after 150, 300 and 450 ms.
        let after_last = look_while_writing("quiet-4", 4, pause).await;
        assert!(after_last >= 3 * pause + quiet, "{after_last:?}");
        assert!(after_last <= 3 * pause + 2 * quiet, "{after_last:?}");
        // A file that is written all the time delays a build by 2 s.
        let endless = look_while_writing("quiet-endless", 1000, pause).await;
        assert!(endless >= MAX_QUIET_WAIT, "{endless:?}");
        assert!(endless < MAX_QUIET_WAIT + quiet, "{endless:?}");
    }

    #[test]
    fn results_and_hidden_files_are_ignored() {
        let directory = Directory::new("ignored");
        for name in [
            "target/a",
            "node_modules/b",
            ".git/c",
            ".a.swp",
            "a.rs~",
            "r.mcplog",
        ] {
            directory.write(name, "x");
        }
        assert_eq!(directory.read(10), Files::default());
    }

    #[test]
    fn number_of_files_is_limited() {
        let directory = Directory::new("limit");
        directory.write("a", "");
        directory.write("b", "");
        let files = directory.read(2);
        assert_eq!((files.files.len(), files.is_limited), (2, false));
        directory.write("c", "");
        let files = directory.read(2);
        assert_eq!((files.files.len(), files.is_limited), (2, true));
    }
}
