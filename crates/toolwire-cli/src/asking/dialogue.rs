//! Whom a question is put to.

use std::io::{self, Write};

use crate::screen::Screen;
use crate::show::plain_text;

/// Somebody who may answer.
pub(super) trait Dialogue {
    /// Shows a line.
    fn say(&mut self, text: &str);

    /// Asks; `None` when there is nobody, or nobody any more.
    fn ask(&mut self, prompt: &str) -> Option<String>;

    /// Whether questions reach anybody.
    fn is_live(&self) -> bool;
}

/// A person at the terminal: questions on standard error, answers from standard input.
pub(super) struct Terminal;

impl Dialogue for Terminal {
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

/// Nobody: only what was given on the command line counts.
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

/// A person as tests imagine one.
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

    pub(super) fn nobody() -> Self {
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
