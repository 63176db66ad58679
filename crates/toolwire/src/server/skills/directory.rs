//! A directory of skills, which can be read again while servers use it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::task::AbortHandle;

use crate::error::Error;
use crate::server::skills::content::{SizeRule, SkillContent};
use crate::server::skills::scan::{SkillFault, scan};
use crate::server::{Server, ServerInner};
use crate::sync::lock;

/// A directory of skills: every directory below it with a `SKILL.md` is a skill.
///
/// It is read when it is opened, and again by [`reload`](Self::reload). In between, servers serve what was read: the
/// list, the digests and the bytes always belong together, whatever happens on the disk. A path of a client is never
/// opened; links that leave the directory are rejected.
///
/// It is a handle: a clone reloads the same skills.
///
/// ```no_run
/// # fn main() -> Result<(), toolwire::Error> {
/// use toolwire::Server;
/// use toolwire::skills::SkillDirectory;
///
/// let skills = SkillDirectory::open("skills")?.under("team");
/// let server = Server::new("docs", "1.0.0").skills(skills.clone());
/// // Later, after files changed:
/// skills.reload()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SkillDirectory {
    state: Arc<DirectoryState>,
}

struct DirectoryState {
    settings: DirectorySettings,
    contents: Mutex<Arc<Vec<SkillContent>>>,
    servers: Mutex<Vec<Weak<ServerInner>>>,
    /// Locked during a reload, so that the result of an earlier scan never replaces that of a later one.
    reloading: Mutex<()>,
    rescan: Mutex<Option<AbortHandle>>,
}

#[derive(Debug, Clone)]
struct DirectorySettings {
    path: PathBuf,
    prefix: String,
    rule: SizeRule,
    rescan: Option<Duration>,
}

impl SkillDirectory {
    /// Reads a directory of skills. If the directory itself has a `SKILL.md`, it is a skill, too.
    ///
    /// `.git`, `.DS_Store` and backups of editors are skipped. All other files of a skill are served, hidden ones too.
    ///
    /// # Errors
    /// Returns an error that names all invalid files with the reasons, if the directory cannot be read, or if a skill
    /// is invalid or has more than 512 files or 16 MiB.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path.as_ref(), SizeRule::Reject)
    }

    /// Like [`open`](Self::open), but serves skills with more than 512 files or 16 MiB, and logs a warning for each. Not
    /// every client can use such a skill.
    ///
    /// # Errors
    /// Returns the same errors as [`open`](Self::open), except for the size.
    pub fn open_oversized(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_with(path.as_ref(), SizeRule::Warn)
    }

    /// Checks a directory of skills. Returns everything that makes [`open`](Self::open) fail, or nothing.
    #[must_use]
    pub fn check(path: impl AsRef<Path>) -> Vec<SkillFault> {
        let scanned = scan(path.as_ref(), SizeRule::Reject);
        scanned.err().unwrap_or_default()
    }

    fn open_with(path: &Path, rule: SizeRule) -> Result<Self, Error> {
        // The program may change its working directory before a reload.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let contents = scan(&path, rule).map_err(|faults| scan_failed(&faults))?;
        let settings = DirectorySettings {
            path,
            prefix: String::new(),
            rule,
            rescan: None,
        };
        Ok(Self::new(settings, Arc::new(contents)))
    }

    fn new(settings: DirectorySettings, contents: Arc<Vec<SkillContent>>) -> Self {
        Self {
            state: Arc::new(DirectoryState {
                settings,
                contents: Mutex::new(contents),
                servers: Mutex::default(),
                reloading: Mutex::default(),
                rescan: Mutex::default(),
            }),
        }
    }

    /// Sets the path before the names in the URIs: with `team`, the skill `release` is `skill://team/release/SKILL.md`.
    /// Default: none. Clones that were made before do not change.
    #[must_use]
    pub fn under(self, prefix: impl Into<String>) -> Self {
        let mut settings = self.state.settings.clone();
        settings.prefix = prefix.into();
        Self::new(settings, self.contents())
    }

    /// Reads the directory again at this interval, as long as a server uses it. By default it is read again only by
    /// [`reload`](Self::reload). Clones that were made before do not change.
    ///
    /// A directory that cannot be read, or has an invalid skill, is logged, and the last valid state stays.
    #[must_use]
    pub fn rescan_every(self, interval: Duration) -> Self {
        let mut settings = self.state.settings.clone();
        settings.rescan = Some(interval);
        Self::new(settings, self.contents())
    }

    /// Reads the directory again. All servers with this directory then serve the new state, and notify their clients.
    /// Returns `true` if a file changed.
    ///
    /// The method blocks the thread while it reads. In async code, call it with `tokio::task::spawn_blocking`.
    ///
    /// # Errors
    /// Returns an error as [`open`](Self::open) does, or if a new skill has the URI of another resource. The servers then
    /// continue with the last valid state.
    pub fn reload(&self) -> Result<bool, Error> {
        let _reloading = lock(&self.state.reloading);
        let settings = &self.state.settings;
        let contents =
            scan(&settings.path, settings.rule).map_err(|faults| scan_failed(&faults))?;
        let before = self.contents();
        let is_equal = before.len() == contents.len()
            && before
                .iter()
                .zip(&contents)
                .all(|(before, now)| before.has_same_files(now));
        if is_equal {
            return Ok(false);
        }
        contents.iter().for_each(SkillContent::compute_digests);
        *lock(&self.state.contents) = Arc::new(contents);
        let mut outcome = Ok(true);
        for server in self.servers() {
            if let Err(error) = server.replace_skills(self) {
                outcome = Err(Error::setup(error.to_string()));
            }
        }
        if outcome.is_err() {
            // The next reload then installs the new state again.
            *lock(&self.state.contents) = before;
        }
        outcome
    }

    /// Returns the servers that use the directory, and forgets those that ended.
    fn servers(&self) -> Vec<Server> {
        let mut servers = lock(&self.state.servers);
        servers.retain(|server| server.strong_count() > 0);
        let servers = servers.iter().filter_map(Weak::upgrade);
        servers.map(|shared| Server { shared }).collect()
    }

    /// Adds a server that serves the skills.
    pub(super) fn serve_on(&self, server: &Server) {
        lock(&self.state.servers).push(Arc::downgrade(&server.shared));
    }

    pub(super) fn contents(&self) -> Arc<Vec<SkillContent>> {
        Arc::clone(&lock(&self.state.contents))
    }

    pub(super) fn prefix(&self) -> &str {
        &self.state.settings.prefix
    }

    pub(super) fn rescan_interval(&self) -> Option<Duration> {
        self.state.settings.rescan
    }

    /// Starts the task that rescans the directory, unless one is running.
    pub(super) fn start_rescan(&self, spawn: impl FnOnce() -> AbortHandle) {
        let mut running = lock(&self.state.rescan);
        if running.as_ref().is_none_or(AbortHandle::is_finished) {
            *running = Some(spawn());
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.state.settings.path
    }
}

/// Two handles are equal if they reload the same skills.
impl PartialEq for SkillDirectory {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }
}

impl fmt::Debug for SkillDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkillDirectory")
            .field("settings", &self.state.settings)
            .field("skills", &self.contents().len())
            .finish_non_exhaustive()
    }
}

/// The maximum number of faults that an error names.
const MAX_NAMED: usize = 20;

fn scan_failed(faults: &[SkillFault]) -> Error {
    let mut lines: Vec<String> = faults
        .iter()
        .take(MAX_NAMED)
        .map(SkillFault::to_string)
        .collect();
    if faults.len() > MAX_NAMED {
        lines.push(format!("and {} more", faults.len() - MAX_NAMED));
    }
    Error::setup(lines.join("\n"))
}
