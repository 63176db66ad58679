//! Asks the user for a line of text at the terminal.

use std::io::{self, Write};

use tokio::sync::oneshot;

use crate::show::plain_text;

/// Asks for a line on standard error and reads it from standard input. Returns `None` if the input has ended. If
/// `hidden` is set, the terminal does not show what is typed.
///
/// Dropping the future makes the terminal show typed text again.
pub(crate) async fn ask_line(prompt: &str, hidden: bool) -> Option<String> {
    let _hidden = hidden.then(HiddenInput::start);
    let mut output = io::stderr();
    write!(output, "{}", plain_text(prompt))
        .and_then(|()| output.flush())
        .ok()?;
    let (send, receive) = oneshot::channel();
    // The thread may outlive the future, because a blocked read cannot be cancelled.
    std::thread::spawn(move || {
        let mut line = String::new();
        let length = io::stdin().read_line(&mut line);
        let _ = send.send(length.ok().filter(|length| *length > 0).map(|_| line));
    });
    let line = receive.await.ok().flatten()?;
    Some(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Makes the terminal hide typed text until it is dropped.
#[cfg(unix)]
struct HiddenInput {
    before: Option<rustix::termios::Termios>,
}

#[cfg(unix)]
impl HiddenInput {
    fn start() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

        let before = tcgetattr(io::stdin()).ok();
        if let Some(before) = &before {
            let mut hidden = before.clone();
            hidden.local_modes.remove(LocalModes::ECHO);
            // The line break is shown, so that the next output is on its own line.
            hidden.local_modes.insert(LocalModes::ECHONL);
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &hidden);
        }
        Self { before }
    }
}

#[cfg(unix)]
impl Drop for HiddenInput {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};

        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// On other systems the terminal shows typed text.
#[cfg(not(unix))]
struct HiddenInput;

#[cfg(not(unix))]
impl HiddenInput {
    fn start() -> Self {
        Self
    }
}
