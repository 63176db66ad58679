//! The error of a configuration that cannot be used.

use std::error::Error;
use std::fmt;

/// An error in a configuration: the file, the line, what is wrong, and what to write instead.
///
/// The text contains keys of the file, and never values of environment variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    file: String,
    line: Option<usize>,
    message: String,
    advice: Option<String>,
}

impl ConfigError {
    /// Creates an error about a file.
    #[must_use]
    pub fn new(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            line: None,
            message: message.into(),
            advice: None,
        }
    }

    /// Sets the line, which starts at 1.
    #[must_use]
    pub fn at_line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    /// Sets what to write instead.
    #[must_use]
    pub fn with_advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// Returns the line, if the error belongs to one.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// Returns what to write instead, if that is known.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }
}

impl fmt::Display for ConfigError {
    /// Writes the file, the line and the message. [`advice`](Self::advice) is not part of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl Error for ConfigError {}
