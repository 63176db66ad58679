//! Shows input requests to the user and reads the responses.

use std::io::{self, Write};

use crate::screen::Screen;
use crate::show::plain_text;

/// A user interface for input requests.
pub(super) trait Dialogue {
    /// Shows a line of text.
    fn say(&mut self, text: &str);

    /// Asks for a line of input. Returns `None` if there is no user, or if the input has ended.
    fn ask(&mut self, prompt: &str) -> Option<String>;

    /// Returns `true` if a user can respond.
    fn is_live(&self) -> bool;
}

/// A terminal: prompts go to standard error, responses come from standard input.
pub(super) struct DialogueTerminal;

impl Dialogue for DialogueTerminal {
    fn say(&mut self, text: &str) {
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

    fn is_live(&self) -> bool {
        true
    }
}

/// No user: only values from the command line are used.
pub(super) struct Silence<'a>(pub(super) &'a Screen);

impl Dialogue for Silence<'_> {
    fn say(&mut self, text: &str) {
        self.0.say(text);
    }

    fn ask(&mut self, _: &str) -> Option<String> {
        None
    }

    fn is_live(&self) -> bool {
        false
    }
}

/// A scripted user for tests.
#[cfg(test)]
pub(super) struct Script {
    answers: std::collections::VecDeque<&'static str>,
    pub(super) shown: String,
    live: bool,
}

#[cfg(test)]
impl Script {
    pub(super) fn new(answers: &[&'static str]) -> Self {
        Self {
            answers: answers.iter().copied().collect(),
            shown: String::new(),
            live: true,
        }
    }

    pub(super) fn without_user() -> Self {
        Self {
            live: false,
            ..Self::new(&[])
        }
    }
}

#[cfg(test)]
impl Dialogue for Script {
    fn say(&mut self, text: &str) {
        self.shown.push_str(text);
        self.shown.push('\n');
    }

    fn ask(&mut self, prompt: &str) -> Option<String> {
        self.shown.push_str(prompt);
        let answer = self.answers.pop_front().filter(|_| self.live)?;
        self.shown.push_str(answer);
        self.shown.push('\n');
        Some(answer.to_owned())
    }

    fn is_live(&self) -> bool {
        self.live
    }
}
