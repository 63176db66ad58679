//! Why an exchange over a connection came to nothing.

use std::error::Error as StdError;
use std::{fmt, io};

/// The connection is of no more use after any of these.
#[derive(Debug)]
pub(in super::super) enum Broken {
    /// Nothing of the request was written.
    Unsent(io::Error),
    /// The connection was closed or reset before a single byte of the response arrived. The error is what reading or writing
    /// failed with, if it did.
    Unanswered(Option<io::Error>),
    /// The other end closed the connection before the answer was complete.
    Closed,
    /// Reading or writing failed.
    Lost(io::Error),
    /// The head of the answer does not fit.
    LongHead,
    /// What came is not HTTP, or could be read in two ways.
    Malformed(Malformed),
}

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Malformed(pub(super) &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl StdError for Malformed {}

impl From<Malformed> for Broken {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}
