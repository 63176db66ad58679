//! `toolwire view`: the pages as a client of HTTP sees them, views in a real browser, and bundling.

mod browser;
mod bundle;
mod pages;

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr};

use crate::process::{toolwire, within};

/// A running `toolwire view open`. It ends when it is dropped.
struct ViewCommand {
    url: String,
    stderr: Lines<BufReader<ChildStderr>>,
    _child: Child,
}

impl ViewCommand {
    /// Starts the command and waits for the address of its page.
    async fn start(server: &str, arguments: &[&str]) -> Self {
        let mut command = toolwire(&["view", "open", server]);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().expect("the command starts");
        let stdout = child.stdout.take().expect("standard output is piped");
        let stderr = child.stderr.take().expect("standard error is piped");
        let url = within(BufReader::new(stdout).lines().next_line()).await;
        Self {
            url: url.expect("standard output is UTF-8").expect("an address"),
            stderr: BufReader::new(stderr).lines(),
            _child: child,
        }
    }

    /// Waits for a line of standard error that contains a text, and returns it.
    async fn line_with(&mut self, text: &str) -> String {
        let mut earlier = Vec::new();
        loop {
            let line = within(self.stderr.next_line()).await.expect("UTF-8");
            let line = line.unwrap_or_else(|| panic!("no line with {text:?} in {earlier:#?}"));
            if line.contains(text) {
                return line;
            }
            earlier.push(line);
        }
    }
}
