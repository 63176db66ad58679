//! Where the document of a view comes from: a text, a file, or a directory that is bundled.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolwire_proto::apps::MAX_DOCUMENT_BYTES;
use toolwire_proto::apps::bundle as rules;

/// The source of a view's document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ViewSource {
    Text(Arc<str>),
    File(PathBuf),
    Bundle(PathBuf),
}

impl ViewSource {
    /// Reads the document.
    pub(super) fn read(&self) -> Result<Cow<'_, str>, SourceError> {
        match self {
            Self::Text(text) => Ok(Cow::Borrowed(text)),
            Self::File(path) => read_text(path).map(Cow::Owned),
            Self::Bundle(path) => read_bundle(path).map(Cow::Owned),
        }
    }
}

/// The reason why a document cannot be used. Clients see only the problem: the path is part of the server's machine.
#[derive(Debug)]
pub(super) struct SourceError {
    path: PathBuf,
    pub(super) problem: String,
}

impl SourceError {
    fn new(path: &Path, problem: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }
}

/// Writes the path and the problem.
impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

/// Returns an HTML document with its local scripts, styles, images and fonts inside of it, as
/// [`View::bundled`](crate::apps::View::bundled) serves it. The path is that of the document, or of a directory with an
/// `index.html`.
///
/// # Errors
/// Returns an error that names the file, and the tag in it, if something is remote, cannot be read or cannot be bundled,
/// and if the document has more than 4 MiB.
pub fn bundle(path: impl AsRef<Path>) -> io::Result<String> {
    let bundled = read_bundle(path.as_ref());
    bundled.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}

fn read_bundle(path: &Path) -> Result<String, SourceError> {
    let (document, directory) = if path.is_dir() {
        (path.join("index.html"), path)
    } else {
        (path.to_owned(), path.parent().unwrap_or(Path::new("")))
    };
    let html = read_text(&document)?;
    let mut load = |path: &str| read(&directory.join(path)).map_err(|error| reason(&error));
    let bundled = rules::bundle(&html, &mut load);
    bundled.map_err(|error| SourceError::new(&document, error.to_string()))
}

fn read_text(path: &Path) -> Result<String, SourceError> {
    let failed = |reason: &str| SourceError::new(path, format!("the file {reason}"));
    let bytes = read(path).map_err(|error| failed(&reason(&error)))?;
    String::from_utf8(bytes).map_err(|_| failed("is not UTF-8 text"))
}

/// Reads a file of at most the size of a view.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let limit = MAX_DOCUMENT_BYTES as u64;
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_DOCUMENT_BYTES {
        let message = format!("it has more than {MAX_DOCUMENT_BYTES} bytes");
        return Err(io::Error::other(message));
    }
    Ok(bytes)
}

fn reason(error: &io::Error) -> String {
    format!("cannot be read: {error}")
}
