//! The bare loop: reads, parses and processes a line. Ready responses share a write.

use std::hint::black_box;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, BufWriter};

use super::message::{Call, Message, initialized, text_result};

const BUFFER: usize = 64 * 1024;

/// Processes the lines of standard input until it ends.
///
/// # Errors
/// Returns an error if standard input cannot be read or standard output not written.
pub async fn serve() -> std::io::Result<()> {
    let mut input = BufReader::with_capacity(BUFFER, tokio::io::stdin());
    let mut output = BufWriter::with_capacity(BUFFER, tokio::io::stdout());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).await? > 0 {
        if let Some(mut bytes) = respond(&line) {
            bytes.push(b'\n');
            output.write_all(&bytes).await?;
        }
        line.clear();
        if input.buffer().is_empty() {
            output.flush().await?;
        }
    }
    output.flush().await
}

/// Processes the message of standard input this many times, without a transport.
///
/// # Errors
/// Returns an error if the message cannot be read or is not supported.
pub fn answer_again_and_again(times: usize) -> std::io::Result<()> {
    let message = std::io::read_to_string(std::io::stdin())?;
    for _ in 0..times {
        let response = respond(message.as_bytes());
        black_box(response.ok_or_else(|| std::io::Error::other("the message has no response"))?);
    }
    Ok(())
}

fn respond(line: &[u8]) -> Option<Vec<u8>> {
    let message: Message<'_> = serde_json::from_slice(line).ok()?;
    let id = message.id?;
    if message.method == "initialize" {
        return Some(initialized(id));
    }
    match message.call()? {
        Call::Echo(text) => text_result(id, &text),
        Call::Big(length) => text_result(id, &"x".repeat(length)),
        Call::Progress(..) | Call::Change => None,
    }
}
