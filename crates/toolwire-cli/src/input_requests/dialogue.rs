//! Shows input requests to the user and reads the responses.

use std::io::{self, Write};

use crate::screen::Screen;
use crate::show::plain_text;

/// A user interface for input requests.
pub(super) trait Dialogue {
    /// Shows a line of text.
    fn show_line(&mut self, text: &str);

    /// Asks for a line of input. Returns `None` if there is no user, or if the input has ended.
    fn ask(&mut self, prompt: &str) -> Option<String>;

    /// Returns `true` if a user can respond.
    fn has_user(&self) -> bool;
}

/// A terminal: prompts go to standard error, responses come from standard input.
pub(super) struct TerminalDialogue;

impl Dialogue for TerminalDialogue {
    fn show_line(&mut self, text: &str) {
        let _ = writeln!(io::stderr(), "{}", plain_text(text));
    }

    fn ask(&mut self, prompt: &str) -> Option<String> {
        let mut output = io::stderr();
        write!(output, "{}", plain_text(prompt))
            .and_then(|()| output.flush())
            .ok()?;
        let mut line = String::new();
        match io::stdin().read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim().to_owned()),
        }
    }

    fn has_user(&self) -> bool {
        true
    }
}

/// No user: only values from the command line are used.
pub(super) struct NoUser<'a>(pub(super) &'a Screen);

impl Dialogue for NoUser<'_> {
    fn show_line(&mut self, text: &str) {
        self.0.show_line(text);
    }

    fn ask(&mut self, _: &str) -> Option<String> {
        None
    }

    fn has_user(&self) -> bool {
        false
    }
}

/// A scripted user for tests.
#[cfg(test)]
pub(super) struct Script {
    inputs: std::collections::VecDeque<&'static str>,
    pub(super) shown: String,
    has_user: bool,
}

#[cfg(test)]
impl Script {
    pub(super) fn new(inputs: &[&'static str]) -> Self {
        Self {
            inputs: inputs.iter().copied().collect(),
            shown: String::new(),
            has_user: true,
        }
    }

    pub(super) fn without_user() -> Self {
        Self {
            has_user: false,
            ..Self::new(&[])
        }
    }
}

#[cfg(test)]
impl Dialogue for Script {
    fn show_line(&mut self, text: &str) {
        self.shown.push_str(text);
        self.shown.push('\n');
    }

    fn ask(&mut self, prompt: &str) -> Option<String> {
        self.shown.push_str(prompt);
        let input = self.inputs.pop_front().filter(|_| self.has_user)?;
        self.shown.push_str(input);
        self.shown.push('\n');
        Some(input.to_owned())
    }

    fn has_user(&self) -> bool {
        self.has_user
    }
}
