//! A relay between a client and an upstream server, both played by the test.

mod raw_upstream;
mod same_era;
