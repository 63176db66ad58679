//! The arguments a user gives on the command line, turned into JSON by the schema of the tool.
//!
//! What is wrong with an argument is said with its name, what is expected, and an example.

mod assemble;
mod convert;
mod schema;
mod word;

pub(crate) use assemble::{missing, object, strings};
pub(crate) use schema::Schema;
pub(crate) use word::Given;
