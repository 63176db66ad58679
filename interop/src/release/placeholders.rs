//! Replaces the placeholders in the arguments and texts of a role.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::client_peer::{Check, Wire};
use crate::listening::ListeningServer;
use crate::problem::Problem;
use crate::release::program::releases_directory;
use crate::subject::Subject;

/// The values of the placeholders of one run, and what must exist while it lasts.
///
/// | Placeholder | Value |
/// |---|---|
/// | `{releases}` | the directory `interop/peers/releases` |
/// | `{toolwire}` | the program `toolwire` |
/// | `{url}`, `{sse_url}` | the URLs of a `toolwire demo` over HTTP, which is started |
/// | `{directory}` | a new directory with the file `note.txt` |
/// | `{port}` | the port on which the server must listen |
/// | `{revision}` | the revision of the role |
#[derive(Debug)]
pub(crate) struct Placeholders {
    values: Vec<(&'static str, String)>,
    demo: Option<ListeningServer>,
    _directory: Option<NewDirectory>,
}

impl Placeholders {
    /// Starts and creates what the texts mention.
    pub(crate) fn of(texts: &[&str], revision: &str, port: u16) -> Result<Self, Problem> {
        let mentioned = |name: &str| texts.iter().any(|text| text.contains(name));
        let (toolwire, _) = Subject::Demo.command(Wire::Stdio)?;
        let mut values = vec![
            ("{releases}", text_of(&releases_directory())),
            ("{toolwire}", text_of(&toolwire)),
            ("{port}", port.to_string()),
            ("{revision}", revision.to_owned()),
        ];
        let demo = if mentioned("{url}") || mentioned("{sse_url}") {
            let demo = ListeningServer::start(&Subject::Demo)?;
            values.push(("{url}", demo.url().to_owned()));
            values.push(("{sse_url}", demo.url().replace("/mcp", "/sse")));
            Some(demo)
        } else {
            None
        };
        let directory = if mentioned("{directory}") {
            let directory = NewDirectory::create()?;
            values.push(("{directory}", text_of(&directory.0)));
            Some(directory)
        } else {
            None
        };
        Ok(Self {
            values,
            demo,
            _directory: directory,
        })
    }

    /// Returns the text with the values.
    pub(crate) fn fill(&self, text: &str) -> String {
        let fill = |text: String, (name, value): &(&str, String)| text.replace(name, value);
        self.values.iter().fold(text.to_owned(), fill)
    }

    /// Returns every text with the values.
    pub(crate) fn fill_all(&self, texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| self.fill(text)).collect()
    }

    /// Asks the started `toolwire demo` to exit, and returns the outcome. Returns `None` if there is no such server.
    pub(crate) fn end_demo(self) -> Option<Check> {
        self.demo.map(ListeningServer::end)
    }
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A new directory in the directory for temporary files. It is removed when this is dropped.
#[derive(Debug)]
struct NewDirectory(PathBuf);

impl NewDirectory {
    fn create() -> Result<Self, Problem> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("toolwire-release-{}-{number}", std::process::id());
        // Servers compare real paths, and the directory may be reached through a symbolic link.
        let parent = std::env::temp_dir();
        let directory = parent.canonicalize().unwrap_or(parent).join(name);
        let create = || {
            fs::create_dir_all(&directory)?;
            fs::write(directory.join("note.txt"), "a note\n")
        };
        create().map_err(|error| {
            Problem::new(format!("cannot create {}: {error}", directory.display()))
        })?;
        Ok(Self(directory))
    }
}

impl Drop for NewDirectory {
    fn drop(&mut self) {
        // A remaining directory does not affect other tests.
        let _ = fs::remove_dir_all(&self.0);
    }
}
