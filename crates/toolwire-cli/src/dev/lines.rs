//! Reads the lines that a process writes.

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The maximum length of a line in bytes. A longer one is divided.
const MAX_LINE: usize = 1024 * 1024;

/// Passes each line to `on_line`, without its end, until the end of the stream.
pub(super) async fn read_lines(mut stream: impl AsyncRead + Unpin, mut on_line: impl FnMut(&str)) {
    let mut line = Vec::new();
    let mut buffer = vec![0; 8 * 1024];
    // An error ends the output like its end does: the exit code of the process decides.
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        for part in buffer[..count].split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(part);
            if line.ends_with(b"\n") || line.len() >= MAX_LINE {
                pass(&line, &mut on_line);
                line.clear();
            }
        }
    }
    if !line.is_empty() {
        pass(&line, &mut on_line);
    }
}

fn pass(line: &[u8], on_line: &mut impl FnMut(&str)) {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    on_line(&String::from_utf8_lossy(line));
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(written: &[u8], expected: &[&str]) {
        let mut lines = Vec::new();
        read_lines(written, |line| lines.push(line.to_owned())).await;
        assert_eq!(lines, expected);
    }

    #[tokio::test]
    async fn lines_end_with_either_line_ending_or_the_stream() {
        check(b"", &[]).await;
        check(b"a\r\n\nb", &["a", "", "b"]).await;
        check(b"a\xff\n", &["a\u{fffd}"]).await;
    }

    #[tokio::test]
    async fn long_line_is_divided() {
        let written = vec![b'x'; MAX_LINE + 10 * 1024];
        let mut lengths = Vec::new();
        read_lines(&*written, |line| lengths.push(line.len())).await;
        assert_eq!(lengths.iter().sum::<usize>(), written.len());
        assert!(lengths.iter().all(|length| *length < MAX_LINE + 8 * 1024));
        assert_eq!(lengths.len(), 2);
    }
}
