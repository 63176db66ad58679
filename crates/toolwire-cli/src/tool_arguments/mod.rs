//! Converts arguments from the command line to JSON with the tool's schema.
//!
//! An error about an argument names the argument, the expected value and an example.

mod argument_path;
mod assemble;
mod convert;
mod parse;
mod schema;
mod variants;

pub(crate) use assemble::{AssembledArguments, missing, object, strings};
pub(crate) use parse::ParsedArguments;
pub(crate) use schema::Schema;
