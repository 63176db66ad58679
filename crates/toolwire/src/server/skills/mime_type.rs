//! The MIME types of files in skills.

/// The types of file name extensions, sorted by extension. Other files are plain text or bytes.
const TYPES: [(&str, &str); 27] = [
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("gif", "image/gif"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("markdown", "text/markdown"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("py", "text/x-python"),
    ("rs", "text/x-rust"),
    ("sh", "text/x-shellscript"),
    ("svg", "image/svg+xml"),
    ("toml", "application/toml"),
    ("txt", "text/plain"),
    ("wasm", "application/wasm"),
    ("webp", "image/webp"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
];

/// Returns the MIME type of a file by the extension of its name.
pub(super) fn mime_type(path: &str, is_text: bool) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let extension = extension.to_ascii_lowercase();
    match TYPES.binary_search_by_key(&extension.as_str(), |(known, _)| known) {
        Ok(found) => TYPES[found].1,
        Err(_) if is_text => "text/plain",
        Err(_) => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_depends_on_the_extension_and_then_on_the_bytes() {
        assert!(TYPES.is_sorted());
        let check = |path: &str, is_text: bool, expected: &str| {
            assert_eq!(mime_type(path, is_text), expected, "{path}");
        };
        check("SKILL.md", true, "text/markdown");
        check("a.b/LICENSE", true, "text/plain");
        check("a/x.PNG", false, "image/png");
        check("x.unknown", true, "text/plain");
        check("x.unknown", false, "application/octet-stream");
        check(".hidden", true, "text/plain");
    }
}
