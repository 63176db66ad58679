//! What hyper's errors mean for one who waits for an answer.

use std::error::Error as StdError;
use std::io;

use super::place::Place;
use super::{HttpFailure, HttpStep};

/// No head of an answer came.
pub(super) fn no_answer(place: &Place, error: hyper::Error) -> HttpFailure {
    if error.is_parse() {
        let what = format!("what {place} answered is not HTTP as it should be");
        HttpFailure::new(HttpStep::Receive, what)
            .with_advice(
                "check the port, and whether the server wants https://; its headers may also be too large",
            )
            .with_source(error)
    } else if error.is_incomplete_message() {
        let what = format!("{place} closed the connection before it answered");
        HttpFailure::new(HttpStep::Send, what)
            .with_advice("look into the log of the server")
            .with_source(error)
    } else if error.is_canceled() {
        // Hyper says this of requests that it hands back unwritten.
        let what = format!("{place} closed the connection before the request was sent");
        HttpFailure::new(HttpStep::Send, what)
            .with_advice("try again")
            .with_source(error)
            .before_arrival()
    } else {
        let what = format!("the connection to {place} broke before an answer came");
        HttpFailure::new(HttpStep::Send, what)
            .with_advice("check the network, and look into the log of the server")
            .with_source(error)
    }
}

/// The headers of an answer are too large.
pub(super) fn long_head(place: &Place, limit: u32) -> HttpFailure {
    let what = format!("the headers that {place} answered with have more than {limit} bytes");
    HttpFailure::new(HttpStep::Receive, what)
        .with_advice("allow more with `with_head_limit` if this server is meant to send them")
}

/// The body of an answer broke off.
pub(super) fn broken_body(place: &Place, error: hyper::Error) -> HttpFailure {
    let silent = causes_of(&error)
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::TimedOut);
    let what = if silent || error.is_timeout() {
        format!("{place} fell silent in the middle of its answer")
    } else {
        format!("the answer of {place} broke off")
    };
    HttpFailure::new(HttpStep::Receive, what)
        .with_advice("check the network, and look into the log of the server")
        .with_source(error)
}

/// The error and everything below it.
fn causes_of<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}
