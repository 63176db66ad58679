//! Resolves the references of a document to its files.

use crate::http::truncated_for_display;
use crate::percent_encoding::percent_decoded;
use crate::uri_scheme::is_scheme;

/// What a reference stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// A file, relative to the directory of the document.
    Local(String),
    /// Something that needs no file: a `data:` URL, or a part of the document.
    Inside,
}

/// Resolves a reference in a file of `directory`, which is empty for the document.
pub(super) fn reference(directory: &str, url: &str) -> Result<Reference, String> {
    let url = url.trim();
    if url.is_empty() || url.starts_with('#') {
        return Ok(Reference::Inside);
    }
    if let Some(scheme) = scheme(url) {
        return match scheme.to_ascii_lowercase().as_str() {
            "data" | "blob" | "about" => Ok(Reference::Inside),
            _ => Err(remote(url)),
        };
    }
    if url.starts_with("//") {
        return Err(remote(url));
    }
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let path = String::from_utf8(percent_decoded(path))
        .map_err(|_| format!("{url:?} is not a valid path"))?;
    if path.contains(['\\', '\0']) {
        return Err(format!("{url:?} is not a valid path; use `/`"));
    }
    // A path that starts with a slash starts at the directory of the document.
    let base = if path.starts_with('/') { "" } else { directory };
    let mut segments: Vec<&str> = Vec::new();
    for segment in base.split('/').chain(path.split('/')) {
        match segment {
            "" | "." => {}
            ".." if segments.pop().is_none() => {
                return Err(format!("{url:?} leaves the directory of the document"));
            }
            ".." => {}
            segment => segments.push(segment),
        }
    }
    Ok(Reference::Local(segments.join("/")))
}

fn scheme(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once(':')?;
    is_scheme(scheme).then_some(scheme)
}

fn remote(url: &str) -> String {
    let url = truncated_for_display(url);
    format!("{url:?} is not a local file; copy it beside the document")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_local_files_below_the_document() {
        fn check(directory: &str, url: &str, expected: &str) {
            let shown = match reference(directory, url) {
                Ok(Reference::Local(path)) => path,
                Ok(Reference::Inside) => "inside".to_owned(),
                Err(problem) => problem,
            };
            assert!(shown.contains(expected), "{url}: {shown}");
            assert!(
                expected.contains(' ') || shown == expected,
                "{url}: {shown}"
            );
        }
        check("", "app.js", "app.js");
        check("", "./a/../b.js?v=1#x", "b.js");
        check("", "/assets/a%20b.png", "assets/a b.png");
        check("css", "fonts/a.woff2", "css/fonts/a.woff2");
        check("css", "../a.png", "a.png");
        check("css", "/a.png", "a.png");
        check("", "1:2.png", "1:2.png");
        for inside in [
            "",
            " ",
            "#id",
            "data:,a",
            "DATA:,a",
            "blob:x",
            "about:blank",
        ] {
            check("", inside, "inside");
        }
        for url in [
            "https://a/b.js",
            "//a/b.js",
            "HTTP://a",
            "javascript:1",
            "C:/a",
        ] {
            check("", url, "is not a local file");
        }
        check("", "../a.js", "leaves the directory");
        check("css", "../../a.js", "leaves the directory");
        check("", "%2e%2e/a.js", "leaves the directory");
        check("", "a\\b.js", "is not a valid path");
        check("", "a%ffb.js", "is not a valid path");
        check("", "a%00b.js", "is not a valid path");
    }
}
