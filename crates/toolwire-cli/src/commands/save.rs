//! Saves the contents of results as files.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::failure::{Exit, Failure};
use crate::screen::Screen;
use crate::show::{Attachment, size};

/// Writes the first attachment to `path`, and the others to numbered files beside it. Returns `true` if `path` is
/// standard output.
pub(super) fn save(
    path: &Path,
    attachments: &[Attachment<'_>],
    screen: &Screen,
) -> Result<bool, Failure> {
    if attachments.is_empty() {
        return Err(
            Failure::new(Exit::Protocol, "the result has no bytes to save")
                .with_advice("remove --output, and redirect standard output for text"),
        );
    }
    let to_stdout = path == Path::new("-");
    if to_stdout && std::io::stdout().is_terminal() {
        // Bytes from a server could control the terminal, and escaping would change them.
        return Err(Failure::usage(
            "--output - writes bytes unchanged, and standard output is a terminal",
        )
        .with_advice("redirect standard output, name a file, or remove --output"));
    }
    for (number, attachment) in (1..).zip(attachments) {
        let bytes = match attachment {
            Attachment::Text(text) => text.as_bytes().to_vec(),
            Attachment::Bytes(base64) => STANDARD.decode(base64).map_err(|error| {
                Failure::new(
                    Exit::Protocol,
                    format!("the server sent invalid base64: {error}"),
                )
            })?,
        };
        if to_stdout {
            let mut output = std::io::stdout().lock();
            output.write_all(&bytes).and_then(|()| output.flush())?;
            continue;
        }
        let path = numbered(path, number);
        std::fs::write(&path, &bytes).map_err(|error| {
            Failure::usage(format!("{} cannot be written: {error}", path.display()))
                .with_advice("check --output")
        })?;
        screen.show_line(&format!(
            "saved {} to {}",
            size(bytes.len()),
            path.display()
        ));
    }
    Ok(to_stdout)
}

/// Returns the path of an attachment: `picture.png`, `picture-2.png`, …
fn numbered(path: &Path, number: usize) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path
        .extension()
        .map(|extension| format!(".{}", extension.to_string_lossy()));
    path.with_file_name(format!("{stem}-{number}{}", extension.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_file_gets_the_number_2() {
        fn check(number: usize, expected: &str) {
            assert_eq!(numbered(Path::new("a/b.png"), number), Path::new(expected));
        }
        check(1, "a/b.png");
        check(2, "a/b-2.png");
        assert_eq!(numbered(Path::new("b"), 3), Path::new("b-3"));
    }
}
