//! The options of the output.

use clap::{Args, ValueEnum};

/// The output options.
#[derive(Debug, Clone, Args)]
pub(crate) struct Output {
    /// Log every message to standard error
    #[arg(long, short, help_heading = "Output")]
    pub(crate) verbose: bool,
    /// Print the result as protocol JSON
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) json: bool,
    /// Use colours
    #[arg(long, value_enum, default_value_t = Colour::Auto, help_heading = "Output")]
    pub(crate) color: Colour,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// In a terminal, unless NO_COLOR or TERM=dumb is set
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}
