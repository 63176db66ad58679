//! How a user gets to the login page from a terminal, and back.

use std::io::{self, BufRead};
use std::sync::Arc;

use tokio::sync::oneshot;
use toolwire::auth::client::LoopbackLogin;

use crate::screen::Screen;

/// The longest line that can be pasted.
const LONGEST_LINE: u64 = 16 * 1024;

const PASTE: &str =
    "If that browser is on another machine, paste the address where it ends, and press Enter.";

/// Opens the browser, shows the address, and takes what is pasted into standard input if `may_paste` says so.
pub(super) fn login(screen: &Arc<Screen>, may_paste: bool) -> LoopbackLogin {
    let (shown, asked) = (Arc::clone(screen), Arc::clone(screen));
    let login = LoopbackLogin::new().with_url_display(move |url| {
        shown.say(&format!("Log in with your browser at\n\n  {url}\n"));
        if may_paste {
            shown.say(PASTE);
        }
    });
    if !may_paste {
        return login;
    }
    login.with_paste_prompt(move |problem| {
        if let Some(problem) = problem {
            asked.say(problem);
        }
        line()
    })
}

/// The next line of standard input. It is read on a thread that nobody waits for: the browser may come back first.
async fn line() -> Option<String> {
    let (send, receive) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = send.send(read_line(io::stdin().lock()));
    });
    receive.await.ok().flatten()
}

fn read_line(input: impl BufRead) -> Option<String> {
    let mut line = String::new();
    let read = input.take(LONGEST_LINE).read_line(&mut line);
    read.ok().filter(|length| *length > 0).map(|_| line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_an_end() {
        let longest = "x".repeat(16 * 1024);
        let mut input = io::Cursor::new(format!("short\n{longest}y\n"));
        let mut lines = || read_line(&mut input);
        assert_eq!(lines().as_deref(), Some("short\n"));
        assert_eq!(lines(), Some(longest));
        assert_eq!(lines().as_deref(), Some("y\n"));
        assert_eq!(lines(), None);
    }

    #[test]
    fn what_is_no_text_is_the_end() {
        assert_eq!(read_line(&b"\xff\n"[..]), None);
    }
}
