//! Opens a page of this command in the browser.
//!
//! The address contains a secret, and every user of the machine can read the command lines of all programs. So the browser
//! gets the path of a file that only the user can read, and the file redirects to the address.

use std::io::{self, Write as _};

use toolwire_auth::client::open_browser;

use crate::screen::Screen;
use crate::temporary_directory::TemporaryDirectory;

/// The file that redirects a browser to a page. It is deleted with this value.
#[derive(Debug)]
pub(crate) struct OpenedPage {
    _directory: TemporaryDirectory,
}

impl OpenedPage {
    /// Opens an address of this command. Returns `None` if no browser is available.
    pub(crate) fn new(url: &str, screen: &Screen) -> Option<Self> {
        let opened = Self::open(url, open_browser);
        opened.unwrap_or_else(|error| {
            screen.warn(&format!(
                "the browser is not opened, because a temporary file cannot be written: {error}; open the address yourself"
            ));
            None
        })
    }

    fn open(url: &str, open_browser: impl FnOnce(&str) -> bool) -> io::Result<Option<Self>> {
        let directory = TemporaryDirectory::new("toolwire-page")?;
        let path = directory.path().join("open.html");
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&path)?.write_all(html(url).as_bytes())?;
        let path = path.to_str().ok_or_else(|| {
            io::Error::other("the path of the directory for temporary files is not UTF-8")
        })?;
        Ok(open_browser(path).then_some(Self {
            _directory: directory,
        }))
    }
}

/// Returns a document that redirects to an address. The addresses of this command need no escape sequences.
fn html(url: &str) -> String {
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"refresh\" content=\"0;url={url}\">\n\
         <title>toolwire</title>\n<p><a href=\"{url}\">Open the page</a></p>\n"
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const URL: &str = "http://127.0.0.1:6280/#secret";

    #[test]
    fn browser_gets_a_private_file_instead_of_the_address() {
        let mut found = None;
        let opened = OpenedPage::open(URL, |path| {
            assert!(!path.contains("secret"), "{path}");
            found = Some(PathBuf::from(path));
            true
        });
        let (opened, path) = (opened.expect("a file"), found.expect("a path"));
        let text = std::fs::read_to_string(&path).expect("the file exists");
        assert!(text.contains(&format!("content=\"0;url={URL}\"")), "{text}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;

            let mode = |path: &std::path::Path| {
                let metadata = std::fs::metadata(path).expect("it exists");
                metadata.permissions().mode() & 0o777
            };
            assert_eq!(mode(&path), 0o600);
            assert_eq!(mode(path.parent().expect("a directory")), 0o700);
        }
        drop(opened);
        assert!(!path.parent().expect("a directory").exists());
    }

    #[test]
    fn file_is_deleted_if_there_is_no_browser() {
        let mut found = None;
        let opened = OpenedPage::open(URL, |path| {
            found = Some(PathBuf::from(path));
            false
        });
        assert!(opened.expect("a file").is_none());
        assert!(!found.expect("a path").exists());
    }
}
