//! The forms in which a request is printed instead of being sent.

use clap::ValueEnum;

/// A form in which a request is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SnippetForm {
    /// A `toolwire` command
    Command,
    /// A `curl` command
    Curl,
    /// A test in Rust
    Rust,
    /// A program in TypeScript
    Typescript,
    /// A program in Python
    Python,
}

impl SnippetForm {
    /// Returns the name for users.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Command => "toolwire",
            Self::Curl => "curl",
            Self::Rust => "Rust test",
            Self::Typescript => "TypeScript",
            Self::Python => "Python",
        }
    }
}
