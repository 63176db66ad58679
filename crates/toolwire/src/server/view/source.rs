//! Where the document of a view comes from: a text, a file, or a directory that is bundled.

use std::borrow::Cow;
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
    /// Reads the document. Errors name the path.
    pub(super) fn read(&self) -> io::Result<Cow<'_, str>> {
        match self {
            Self::Text(text) => Ok(Cow::Borrowed(text)),
            Self::File(path) => read_text(path).map(Cow::Owned),
            Self::Bundle(path) => bundle(path).map(Cow::Owned),
        }
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
    let path = path.as_ref();
    let (document, directory) = if path.is_dir() {
        (path.join("index.html"), path)
    } else {
        (path.to_owned(), path.parent().unwrap_or(Path::new("")))
    };
    let html = read_text(&document)?;
    let mut load = |path: &str| read(&directory.join(path)).map_err(|error| reason(&error));
    rules::bundle(&html, &mut load).map_err(|error| {
        let message = format!("{}: {error}", document.display());
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

fn read_text(path: &Path) -> io::Result<String> {
    let failed = |reason: String| io::Error::other(format!("{} {reason}", path.display()));
    let bytes = read(path).map_err(|error| failed(reason(&error)))?;
    String::from_utf8(bytes).map_err(|_| failed("is not UTF-8 text".to_owned()))
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
