//! Replays records: as a server, against a server, or as a Rust test.
//!
//! A recorded server is an upstream of a relay, so it serves clients of every transport and revision. A server under
//! comparison is the upstream of a relay, too, so the recorded messages of the client reach it as they were.

mod against;
mod changing_tools;
mod compare;
mod exchanges;
mod matching;
mod recorded_connection;
mod recorded_server;
mod relay_connection;
mod report;
mod rust_test;
mod server_values;
#[cfg(test)]
mod test_record;

pub(crate) use against::replay_against;
pub(crate) use changing_tools::changing_tools;
pub(crate) use compare::{CompareOptions, Pointer};
pub(crate) use recorded_server::RecordedServer;
pub(crate) use report::Report;
pub(crate) use rust_test::rust_test;
