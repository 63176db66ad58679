//! A zip archive that depends on its content only.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// A file of a bundle.
#[derive(Debug)]
pub(super) struct BundleFile<'a> {
    pub(super) path: &'a str,
    pub(super) content: &'a [u8],
    pub(super) is_program: bool,
}

/// Returns an archive with these files in their order. Dates are those of the start of the format.
pub(super) fn archive(files: &[BundleFile<'_>]) -> zip::result::ZipResult<Vec<u8>> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for file in files {
        let mode = if file.is_program { 0o755 } else { 0o644 };
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(DateTime::default())
            .unix_permissions(mode);
        writer.start_file(file.path, options)?;
        writer.write_all(file.content)?;
    }
    Ok(writer.finish()?.into_inner())
}

/// Returns the SHA-256 digest in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        // A string is always writable.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn archive_has_the_files_and_their_modes() {
        let files = [
            BundleFile {
                path: "manifest.json",
                content: b"{}",
                is_program: false,
            },
            BundleFile {
                path: "server/notes",
                content: &[7; 10_000],
                is_program: true,
            },
        ];
        let bytes = archive(&files).expect("memory is writable");
        assert_eq!(bytes, archive(&files).expect("memory is writable"));
        assert!(bytes.len() < 1000, "{}", bytes.len());
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("it is an archive");
        let names: Result<Vec<_>, _> = archive.file_names().collect();
        let names = names.expect("the names are valid");
        assert_eq!(names, ["manifest.json", "server/notes"]);
        let mut program = archive.by_name("server/notes").expect("it has the program");
        assert_eq!(program.unix_mode().map(|mode| mode & 0o777), Some(0o755));
        let mut content = Vec::new();
        program.read_to_end(&mut content).expect("it is readable");
        assert_eq!(content, [7; 10_000]);
    }

    #[test]
    fn digest_is_hexadecimal() {
        let digest = sha256(b"");
        assert_eq!(
            digest,
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
