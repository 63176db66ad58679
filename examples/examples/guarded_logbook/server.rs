//! The server: shows `from_fn`, a change of an outcome, `RateLimit`, `Policy` and `Audit`.

use std::error::Error;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use toolwire::middleware::{
    Audit, Next, Policy, PolicyConditions, PolicyRule, RateLimit, Request, from_fn,
};
use toolwire::{ContentBlock, Server, ToolError};

#[derive(Default)]
struct Logbook {
    lines: Mutex<Vec<String>>,
}

#[toolwire::server(name = "logbook", version = "1.0.0")]
impl Logbook {
    /// Adds a line and returns its number.
    #[tool]
    fn write_line(&self, line: String) -> usize {
        let mut lines = self.lines();
        lines.push(line);
        lines.len()
    }

    /// Reads a line.
    #[tool(read_only)]
    fn read_line(&self, number: usize) -> Result<String, ToolError> {
        let index = number.checked_sub(1);
        let line = index.and_then(|index| self.lines().get(index).cloned());
        line.ok_or_else(|| ToolError::failed(format!("there is no line {number}")))
    }

    /// Deletes all lines.
    #[tool(destructive)]
    fn delete_lines(&self) {
        self.lines().clear();
    }

    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn server() -> Result<Server, Box<dyn Error>> {
    let timed = from_fn(async |request: &mut Request, next: Next<'_>| {
        let start = Instant::now();
        let outcome = next.run(request).await;
        // Lists and other requests have no tool result, and pass unchanged.
        if request.method() != "tools/call" {
            return outcome;
        }
        match outcome.tool_result() {
            Some(mut result) => {
                let time = format!("took {} s", start.elapsed().as_secs());
                result.content.push(ContentBlock::text(time));
                result.into()
            }
            None => outcome,
        }
    });
    // A denied tool is neither listed nor called.
    let deletes = PolicyConditions::new().with_tool("delete_*");
    let policy = Policy::new([PolicyRule::deny(deletes).with_name("keep all lines")])?;
    Ok(Logbook::default()
        .into_server()
        .with_middleware(Audit::new(|line: &str| eprintln!("{line}")))
        .with_middleware(RateLimit::per_caller(2, Duration::from_secs(3600)).for_tools("write_*"))
        .with_middleware(timed)
        .with_middleware(policy))
}
