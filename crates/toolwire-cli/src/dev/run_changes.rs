//! Decides whether the files that changed during a build and the start after it cause another build.
//!
//! Such a file was written by the developer, or by the build itself: a bundle, generated sources, a lock file. The
//! operating system does not report the writer. A change of the developer must be built, and a build after each file of
//! the build would never end. So repetition decides. A run is a build and the start after it.
//!
//! 1. A file that changes during a run causes another run.
//! 2. A file that changes during 3 runs in a row is written by the build. Its changes during a run are ignored, until a run
//!    leaves it unchanged. Each such change is reported, because the developer may have made it.
//! 3. A build may also write files with other names each time. After 8 further runs in a row, the changes are ignored.
//!
//! Changes while nothing is built and started always cause a run, also those of files that a build writes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The number of runs in a row after which a file that changes during each of them is ignored.
const RUNS_OF_WRITTEN_FILE: u32 = 3;

/// The maximum number of runs in a row that are caused by changes during the run before.
const MAX_FURTHER_RUNS: u32 = 8;

/// The files that changed during runs.
#[derive(Debug, Default)]
pub(super) struct RunChanges {
    /// The files that have changed during the current run.
    current: BTreeSet<PathBuf>,
    /// In how many runs in a row a file has changed. It has the files of the last run.
    counts: BTreeMap<PathBuf, u32>,
    /// The number of runs in a row that were caused by changes during the run before.
    further_runs: u32,
}

/// What follows a run.
#[derive(Debug, PartialEq)]
pub(super) struct RunEnd {
    /// Whether another run follows at once.
    pub(super) is_repeated: bool,
    /// The files whose changes during a run are ignored from now on.
    pub(super) ignored: Vec<PathBuf>,
    /// The files that were ignored before, and have changed again without another run.
    pub(super) not_built: Vec<PathBuf>,
}

impl RunChanges {
    /// Adds files that have changed during the current run. Returns `true` if they cause another run.
    pub(super) fn add(&mut self, changed: BTreeSet<PathBuf>) -> bool {
        let count = |file: &PathBuf| self.counts.get(file).copied().unwrap_or_default();
        let has_source = changed
            .iter()
            .any(|file| count(file) + 1 < RUNS_OF_WRITTEN_FILE);
        self.current.extend(changed);
        has_source && self.further_runs < MAX_FURTHER_RUNS
    }

    /// Ends the current run.
    pub(super) fn end(&mut self) -> RunEnd {
        let changed = std::mem::take(&mut self.current);
        let previous = std::mem::take(&mut self.counts);
        let counts = changed.into_iter().map(|file| {
            let count = previous.get(&file).copied().unwrap_or_default();
            (file, count.saturating_add(1))
        });
        self.counts = counts.collect();
        let has_source = self
            .counts
            .values()
            .any(|count| *count < RUNS_OF_WRITTEN_FILE);
        let is_repeated = has_source && self.further_runs < MAX_FURTHER_RUNS;
        let is_newly_ignored = |count: u32| match count {
            RUNS_OF_WRITTEN_FILE => true,
            count => count < RUNS_OF_WRITTEN_FILE && !is_repeated,
        };
        let ignored = self.files_with(is_newly_ignored);
        let not_built = self.files_with(|count| count > RUNS_OF_WRITTEN_FILE && !is_repeated);
        self.further_runs = if is_repeated {
            self.further_runs + 1
        } else {
            0
        };
        RunEnd {
            is_repeated,
            ignored,
            not_built,
        }
    }

    /// Returns the files of the last run with such a count.
    fn files_with(&self, is_included: impl Fn(u32) -> bool) -> Vec<PathBuf> {
        let files = self.counts.iter().filter(|(_, count)| is_included(**count));
        files.map(|(file, _)| file.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &str) -> BTreeSet<PathBuf> {
        names.split_whitespace().map(PathBuf::from).collect()
    }

    /// Ends a run during which these files changed, and after which none is reported as not built.
    fn check(changes: &mut RunChanges, changed: &str, is_repeated: bool, ignored: &str) {
        check_end(changes, changed, is_repeated, (ignored, ""));
    }

    /// Ends a run during which these files changed. `ignored` are the files that are ignored from now on.
    fn check_end(
        changes: &mut RunChanges,
        changed: &str,
        is_repeated: bool,
        (ignored, not_built): (&str, &str),
    ) {
        assert_eq!(changes.add(files(changed)), is_repeated, "{changed}");
        let expected = RunEnd {
            is_repeated,
            ignored: files(ignored).into_iter().collect(),
            not_built: files(not_built).into_iter().collect(),
        };
        assert_eq!(changes.end(), expected, "{changed}");
    }

    #[test]
    fn change_of_the_developer_is_built_again() {
        let mut changes = RunChanges::default();
        check(&mut changes, "", false, "");
        check(&mut changes, "a.rs", true, "");
        check(&mut changes, "", false, "");
    }

    #[test]
    fn file_of_the_build_is_ignored_after_3_runs_until_a_run_leaves_it_unchanged() {
        let mut changes = RunChanges::default();
        check(&mut changes, "bundle.js", true, "");
        check(&mut changes, "bundle.js", true, "");
        check(&mut changes, "bundle.js", false, "bundle.js");
        check_end(&mut changes, "bundle.js", false, ("", "bundle.js"));
        // A change of the developer at the same time is built.
        check(&mut changes, "a.rs bundle.js", true, "");
        check_end(&mut changes, "bundle.js", false, ("", "bundle.js"));
        check(&mut changes, "", false, "");
        check(&mut changes, "bundle.js", true, "");
    }

    #[test]
    fn files_with_other_names_each_time_are_ignored_after_8_further_runs() {
        let mut changes = RunChanges::default();
        for number in 0..MAX_FURTHER_RUNS {
            check(&mut changes, &format!("bundle-{number}.js"), true, "");
        }
        check(&mut changes, "bundle-8.js", false, "bundle-8.js");
        check(&mut changes, "bundle-9.js", true, "");
    }
}
