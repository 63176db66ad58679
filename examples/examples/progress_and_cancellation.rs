//! Long work: progress while it runs, and cleanup when the client cancels.
//!
//! An async handler needs no code for cancellation: its future is dropped at the next `.await`. Cleanup belongs in a
//! `Drop` implementation, as for any other future in Rust.
//! Run it with `cargo run -p toolwire-examples --example progress_and_cancellation`, or give that command to an MCP
//! client.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use toolwire::{RequestContext, Server, tool};

static OPEN_FILES: AtomicUsize = AtomicUsize::new(0);

/// A resource that needs cleanup, however the work ends.
struct OpenFile;

impl OpenFile {
    fn open() -> Self {
        OPEN_FILES.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        OPEN_FILES.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Downloads a number of parts.
#[tool]
async fn download(
    ctx: &RequestContext,
    #[arg(minimum = 1)] parts: i64,
    #[arg(default = 100)] milliseconds_each: u64,
) -> String {
    let _file = OpenFile::open();
    for part in 1..=parts {
        // Does nothing if the client did not request progress, so there is no need to check.
        ctx.report_steps(part, parts, Some(&format!("part {part}")));
        tokio::time::sleep(Duration::from_millis(milliseconds_each)).await;
    }
    format!("{parts} parts")
}

/// Returns the number of open files.
#[tool(read_only)]
fn open_files() -> usize {
    OPEN_FILES.load(Ordering::SeqCst)
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    Server::new("downloads", "1.0.0")
        .tool(download)
        .tool(open_files)
        .serve_stdio()
        .await
}
