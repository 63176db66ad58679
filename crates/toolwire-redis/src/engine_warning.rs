//! Risks of an engine that can be used.

use std::fmt;

/// A risk that [`Redis::connect`](crate::Redis::connect) found. It is also logged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EngineWarning {
    /// What is risky.
    pub problem: String,
    /// What to do.
    pub remedy: String,
}

impl EngineWarning {
    pub(crate) fn new(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}

impl fmt::Display for EngineWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.problem, self.remedy)
    }
}
