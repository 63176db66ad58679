//! What grows in a case that measures the same calls on servers of several sizes.

use serde::Serialize;

use super::table::thousands;

/// The size of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Size {
    /// The number of tools.
    Tools(usize),
    /// The number of worker threads of its runtime.
    Threads(usize),
}

impl Size {
    /// Returns the number of tools, if it is the size.
    pub(crate) fn tools(self) -> Option<usize> {
        match self {
            Self::Tools(count) => Some(count),
            Self::Threads(_) => None,
        }
    }

    /// Returns the text in the tables.
    pub(crate) fn to_text(self) -> String {
        let (count, what) = match self {
            Self::Tools(count) => (count, "tool"),
            Self::Threads(count) => (count, "thread"),
        };
        let ending = if count == 1 { "" } else { "s" };
        format!("{} {what}{ending}", thousands(count as f64, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        assert_eq!(Size::Tools(1).to_text(), "1 tool");
        assert_eq!(Size::Tools(10_000).to_text(), "10,000 tools");
    }
}
