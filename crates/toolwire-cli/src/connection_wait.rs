//! Shows that a server command does not respond yet, and what it prints meanwhile.
//!
//! Only a user at a terminal sees it. In scripts, the failure at the end quotes the output of the command.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::screen::Screen;
use crate::sync::lock;

/// How long a command may take to respond before the user is informed.
const QUIET_TIME: Duration = Duration::from_secs(3);

/// The number of lines that are stored until then.
const MAX_LINES: usize = 20;

/// Collects what a command writes to standard error until it responds.
#[derive(Debug)]
pub(crate) struct ConnectionWait {
    program: String,
    screen: Arc<Screen>,
    state: Mutex<WaitState>,
}

#[derive(Debug)]
enum WaitState {
    /// The last lines, which are not shown yet.
    Quiet(VecDeque<String>),
    /// Every line is shown at once.
    Showing,
    /// The server has responded, or failed.
    Ended,
}

impl ConnectionWait {
    pub(crate) fn new(program: String, screen: &Arc<Screen>) -> Arc<Self> {
        Arc::new(Self {
            program,
            screen: Arc::clone(screen),
            state: Mutex::new(WaitState::Quiet(VecDeque::new())),
        })
    }

    /// Receives a line of the command's standard error.
    pub(crate) fn line(&self, line: &str) {
        let mut state = lock(&self.state);
        match &mut *state {
            WaitState::Quiet(lines) => {
                if lines.len() == MAX_LINES {
                    lines.pop_front();
                }
                lines.push_back(line.to_owned());
            }
            WaitState::Showing => self.show(line),
            WaitState::Ended => {}
        }
    }

    /// Runs `connecting`. If it takes long, the user is informed.
    pub(crate) async fn during<T>(&self, connecting: impl Future<Output = T>) -> T {
        tokio::pin!(connecting);
        let outcome = match tokio::time::timeout(QUIET_TIME, &mut connecting).await {
            Ok(outcome) => outcome,
            Err(_) => {
                self.start_showing();
                connecting.await
            }
        };
        self.set(WaitState::Ended);
        outcome
    }

    fn start_showing(&self) {
        let lines = match self.set(WaitState::Showing) {
            WaitState::Quiet(lines) => lines,
            _ => VecDeque::new(),
        };
        let program = &self.program;
        let seconds = QUIET_TIME.as_secs();
        self.screen.show_line(&format!(
            "{program} has not responded for {seconds} s; its standard error:"
        ));
        for line in &lines {
            self.show(line);
        }
    }

    fn show(&self, line: &str) {
        self.screen.show_line(&format!("    {line}"));
    }

    fn set(&self, state: WaitState) -> WaitState {
        let mut current = lock(&self.state);
        std::mem::replace(&mut current, state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output_arguments::Colour;

    #[test]
    fn last_lines_are_stored_until_they_are_shown() {
        let screen = Arc::new(Screen::new(false, Colour::Never));
        let wait = ConnectionWait::new("server".to_owned(), &screen);
        let lines: Vec<_> = (0..=MAX_LINES).map(|number| number.to_string()).collect();
        let check = |expected: &[String]| match wait.set(WaitState::Quiet(VecDeque::new())) {
            WaitState::Quiet(stored) => assert_eq!(stored, expected),
            other => panic!("{other:?}"),
        };
        lines[1..].iter().for_each(|line| wait.line(line));
        check(&lines[1..]);
        lines.iter().for_each(|line| wait.line(line));
        check(&lines[1..]);
    }
}
