//! The steps of a check, with their results.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::failure::{Exit, Failure};
use crate::screen::Screen;
use crate::show::plain_text;

/// The longest shown detail of a step, in characters. A server may have sent it.
const SHOWN_CHARACTERS: usize = 300;

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepResult {
    Passed,
    /// The step found a fault, and the command ends with this code.
    Failed(Exit),
    /// The step does not apply.
    Skipped,
}

/// One step of a check.
#[derive(Debug)]
struct Step {
    name: &'static str,
    result: StepResult,
    detail: String,
    took: Duration,
    remedy: Option<String>,
}

/// All steps so far.
#[derive(Debug, Default)]
pub(super) struct Steps {
    steps: Vec<Step>,
}

impl Steps {
    pub(super) fn passed(&mut self, name: &'static str, begun: Instant, detail: impl Into<String>) {
        self.add(name, StepResult::Passed, begun, detail.into(), None);
    }

    pub(super) fn skipped(&mut self, name: &'static str, detail: impl Into<String>) {
        let now = Instant::now();
        self.add(name, StepResult::Skipped, now, detail.into(), None);
    }

    /// Adds a step that failed. `remedy` is used if the failure has no advice.
    pub(super) fn failed(
        &mut self,
        name: &'static str,
        begun: Instant,
        failure: &Failure,
        remedy: &str,
    ) {
        let advice = failure.advice().unwrap_or(remedy).to_owned();
        let result = StepResult::Failed(failure.exit);
        self.add(
            name,
            result,
            begun,
            failure.message().to_owned(),
            Some(advice),
        );
    }

    fn add(
        &mut self,
        name: &'static str,
        result: StepResult,
        begun: Instant,
        detail: String,
        remedy: Option<String>,
    ) {
        self.steps.push(Step {
            name,
            result,
            detail,
            took: begun.elapsed(),
            remedy,
        });
    }

    /// Prints the steps, and returns the exit code of the first one that failed.
    pub(super) fn report(&self, screen: &Screen) -> Result<Exit, Failure> {
        if screen.json {
            screen.print_json(&self.json())?;
        } else {
            screen.print(&self.text())?;
        }
        Ok(self.exit())
    }

    fn exit(&self) -> Exit {
        let mut exits = self.steps.iter().filter_map(|step| match step.result {
            StepResult::Failed(exit) => Some(exit),
            StepResult::Passed | StepResult::Skipped => None,
        });
        exits.next().unwrap_or(Exit::Success)
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for step in &self.steps {
            let (word, time) = match step.result {
                StepResult::Passed => ("ok", shown_time(step.took)),
                StepResult::Failed(_) => ("FAILED", shown_time(step.took)),
                StepResult::Skipped => ("-", String::new()),
            };
            let (name, detail) = (step.name, shown(&step.detail));
            let _ = writeln!(text, "{word:<7} {name:<9} {time:>8}  {detail}");
            if let Some(remedy) = &step.remedy {
                let _ = writeln!(text, "{:28}try: {}", "", shown(remedy));
            }
        }
        text
    }

    fn json(&self) -> Value {
        let steps = self.steps.iter().map(|step| {
            let result = match step.result {
                StepResult::Passed => "passed",
                StepResult::Failed(_) => "failed",
                StepResult::Skipped => "skipped",
            };
            let mut value = json!({
                "name": step.name,
                "result": result,
                "detail": step.detail,
                "milliseconds": step.took.as_secs_f64() * 1e3,
            });
            if let Some(remedy) = &step.remedy {
                value["remedy"] = remedy.as_str().into();
            }
            value
        });
        let steps: Vec<Value> = steps.collect();
        json!({ "passed": self.exit() == Exit::Success, "steps": steps })
    }
}

/// Returns text of a server in one line, without control characters.
fn shown(text: &str) -> String {
    let text = plain_text(text).replace(['\n', '\r'], " ");
    if text.chars().count() <= SHOWN_CHARACTERS {
        return text;
    }
    let start: String = text.chars().take(SHOWN_CHARACTERS).collect();
    format!("{start}…")
}

fn shown_time(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_failed_step_decides_the_exit_code() {
        let mut steps = Steps::default();
        steps.passed("name", Instant::now(), "127.0.0.1");
        assert_eq!(steps.exit(), Exit::Success);
        let hostile = "\u{1b}[2J\n".repeat(200);
        let failure = Failure::new(Exit::NoConnection, hostile);
        steps.failed("TCP", Instant::now(), &failure, "start it");
        steps.failed("era", Instant::now(), &Failure::new(Exit::Protocol, ""), "");
        assert_eq!(steps.exit(), Exit::NoConnection);
        let text = steps.text();
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(text.contains("try: start it\n"), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() < 340),
            "{text}"
        );
        assert_eq!(steps.json()["steps"][0]["result"], "passed");
        assert_eq!(steps.json()["passed"], false);
    }
}
