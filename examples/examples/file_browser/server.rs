//! The server: a tool that lists a directory, and a template that reads a file.

#![expect(deprecated, reason = "the example shows a deprecated feature")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use toolwire::{RequestContext, ToolError};

/// The largest file that is read into memory.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The directory that is served, without symbolic links in its path.
pub(crate) struct Files {
    directory: PathBuf,
}

#[derive(Serialize, JsonSchema)]
struct Listing {
    entries: Vec<Entry>,
}

#[derive(Serialize, JsonSchema)]
struct Entry {
    name: String,
    /// The URI of a file, or `null` for a directory.
    uri: Option<String>,
    /// The size of a file in bytes.
    size: Option<u64>,
}

impl Files {
    pub(crate) fn open(directory: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self {
            directory: fs::canonicalize(directory)?,
        })
    }

    /// Returns the absolute path of a file or directory, if it is inside the served directory.
    ///
    /// The path comes from the client, so `..` and symbolic links are resolved before the comparison.
    fn resolve(&self, path: &str) -> Result<PathBuf, ToolError> {
        let absolute = fs::canonicalize(self.directory.join(path))?;
        if absolute.starts_with(&self.directory) {
            Ok(absolute)
        } else {
            Err(ToolError::failed(format!(
                "{path} is outside the served directory"
            )))
        }
    }
}

#[toolwire::server(name = "file-browser", version = "1.0.0")]
impl Files {
    /// Lists a directory. The path is relative to the served directory.
    #[tool(read_only)]
    async fn list(
        &self,
        ctx: &RequestContext,
        #[arg(default = ".".to_owned())] path: String,
    ) -> Result<Listing, ToolError> {
        let directory = self.resolve(&path)?;
        check_roots(ctx, &directory).await?;
        let mut entries = Vec::new();
        let mut reading = tokio::fs::read_dir(&directory).await?;
        while let Some(entry) = reading.next_entry().await? {
            let metadata = entry.metadata().await?;
            let file = entry.path();
            let relative = file.strip_prefix(&self.directory)?;
            entries.push(Entry {
                name: entry.file_name().to_string_lossy().into_owned(),
                uri: metadata.is_file().then(|| file_uri(relative)),
                size: metadata.is_file().then_some(metadata.len()),
            });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Listing { entries })
    }

    /// The text of a file.
    #[resource_template(uri = "files:///{+path}", mime_type = "text/plain")]
    async fn read(
        &self,
        ctx: &RequestContext,
        path: String,
        #[arg(uri)] uri: &str,
    ) -> Result<String, ToolError> {
        // A file that the client may not read looks like one that does not exist.
        let missing = || ToolError::resource_not_found(uri);
        let file = self.resolve(&path).map_err(|_| missing())?;
        check_roots(ctx, &file).await?;
        let size = tokio::fs::metadata(&file).await?.len();
        if size > MAX_FILE_BYTES {
            return Err(ToolError::failed(format!(
                "the file has {size} bytes; the limit is {MAX_FILE_BYTES}"
            )));
        }
        let bytes = tokio::fs::read(&file).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Returns an error if the client has roots and the path is outside of them. The user of such a client chooses the
/// directories that servers may use.
async fn check_roots(ctx: &RequestContext, path: &Path) -> Result<(), ToolError> {
    if ctx.client_capabilities().roots.is_none() {
        return Ok(());
    }
    let roots = ctx.ask_roots("roots").await?;
    let contains = |root: &str| {
        let root = root.strip_prefix("file://").map(Path::new);
        root.is_some_and(|root| path.starts_with(root))
    };
    if roots.iter().any(|root| contains(&root.uri)) {
        Ok(())
    } else {
        Err(ToolError::failed("this is outside the roots of the client"))
    }
}

/// Returns the URI of a file. Characters that a URI cannot contain are escaped.
fn file_uri(relative: &Path) -> String {
    let mut uri = String::from("files:///");
    for byte in relative.to_string_lossy().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
