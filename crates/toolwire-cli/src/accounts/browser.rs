//! Sends the user to the login page and receives the result.

use std::io::{self, BufRead};
use std::sync::Arc;

use tokio::sync::oneshot;
use toolwire_auth::client::LoopbackLogin;

use crate::screen::Screen;

/// The longest line that can be pasted, in bytes.
const MAX_LINE: u64 = 16 * 1024;

const PASTE: &str = "If that browser is on another machine, paste the address that it cannot open, and press Enter.";

/// Opens the browser and shows the address. If `may_paste` is set, it also reads a pasted address from standard input.
pub(super) fn login(screen: &Arc<Screen>, may_paste: bool) -> LoopbackLogin {
    let (display, prompt) = (Arc::clone(screen), Arc::clone(screen));
    let login = LoopbackLogin::new().with_url_display(move |url| {
        display.show_line(&format!("Log in with your browser at\n\n  {url}\n"));
        if may_paste {
            display.show_line(PASTE);
        }
    });
    if !may_paste {
        return login;
    }
    login.with_paste_prompt(move |problem| {
        if let Some(problem) = problem {
            prompt.show_line(problem);
        }
        next_line()
    })
}

/// Reads the next line of standard input on a separate thread, which may outlive the login: the browser may respond
/// first.
async fn next_line() -> Option<String> {
    let (send, receive) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = send.send(read_line(io::stdin().lock()));
    });
    receive.await.ok().flatten()
}

fn read_line(input: impl BufRead) -> Option<String> {
    let mut line = String::new();
    let read = input.take(MAX_LINE).read_line(&mut line);
    read.ok().filter(|length| *length > 0).map(|_| line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded() {
        let longest = "x".repeat(16 * 1024);
        let mut input = io::Cursor::new(format!("short\n{longest}y\n"));
        let mut lines = || read_line(&mut input);
        assert_eq!(lines().as_deref(), Some("short\n"));
        assert_eq!(lines(), Some(longest));
        assert_eq!(lines().as_deref(), Some("y\n"));
        assert_eq!(lines(), None);
    }

    #[test]
    fn invalid_utf8_ends_the_input() {
        assert_eq!(read_line(&b"\xff\n"[..]), None);
    }
}
