//! What a broken exchange means for one who waits for an answer.

use std::error::Error as StdError;
use std::io;

use crate::transport::http_client::http1::Broken;
use crate::transport::http_client::place::Place;
use crate::transport::http_client::{HttpFailure, HttpStep};

/// Why no head of an answer came, whichever version of HTTP was spoken.
enum Reason {
    /// It is no HTTP.
    Malformed,
    /// The other end closed the connection.
    Closed,
    /// Nothing of the request was written.
    Unsent,
    /// Anything else that happens to connections.
    Lost,
}

/// No head of an answer came.
pub(super) fn no_answer(place: &Place, broken: Broken) -> HttpFailure {
    match broken {
        Broken::Malformed(malformed) => reason(place, Reason::Malformed).with_source(malformed),
        Broken::LongHead => reason(place, Reason::Malformed),
        Broken::Closed | Broken::Unanswered(None) => reason(place, Reason::Closed),
        Broken::Unsent(error) => reason(place, Reason::Unsent).with_source(error),
        Broken::Lost(error) | Broken::Unanswered(Some(error)) => {
            reason(place, Reason::Lost).with_source(error)
        }
    }
}

/// No head of an answer came over HTTP/2.
pub(super) fn no_answer_over_http2(place: &Place, error: hyper::Error) -> HttpFailure {
    let why = if error.is_parse() {
        Reason::Malformed
    } else if error.is_incomplete_message() {
        Reason::Closed
    } else if error.is_canceled() {
        // Hyper says this of requests that it hands back unwritten.
        Reason::Unsent
    } else {
        Reason::Lost
    };
    reason(place, why).with_source(error)
}

fn reason(place: &Place, reason: Reason) -> HttpFailure {
    match reason {
        Reason::Malformed => {
            let what = format!("what {place} answered is not HTTP as it should be");
            HttpFailure::new(HttpStep::Receive, what).with_advice(
                "check the port, and whether the server wants https://; its headers may also be too large",
            )
        }
        Reason::Closed => {
            let what = format!("{place} closed the connection before it answered");
            HttpFailure::new(HttpStep::Send, what).with_advice("look into the log of the server")
        }
        Reason::Unsent => {
            let what = format!("{place} closed the connection before the request was sent");
            HttpFailure::new(HttpStep::Send, what)
                .with_advice("try again")
                .before_arrival()
        }
        Reason::Lost => {
            let what = format!("the connection to {place} broke before an answer came");
            HttpFailure::new(HttpStep::Send, what)
                .with_advice("check the network, and look into the log of the server")
        }
    }
}

/// The headers of an answer are too large.
pub(super) fn long_head(place: &Place, limit: u32) -> HttpFailure {
    let what = format!("the headers that {place} answered with have more than {limit} bytes");
    HttpFailure::new(HttpStep::Receive, what)
        .with_advice("allow more with `with_head_limit` if this server is meant to send them")
}

/// The body of an answer broke off.
pub(super) fn broken_body(place: &Place, broken: Broken) -> HttpFailure {
    match broken {
        Broken::Lost(error) | Broken::Unsent(error) | Broken::Unanswered(Some(error)) => {
            let silent = error.kind() == io::ErrorKind::TimedOut;
            body(place, silent).with_source(error)
        }
        Broken::Malformed(malformed) => body(place, false).with_source(malformed),
        Broken::Closed | Broken::LongHead | Broken::Unanswered(None) => body(place, false),
    }
}

/// The body of an answer over HTTP/2 broke off.
pub(super) fn broken_body_over_http2(place: &Place, error: hyper::Error) -> HttpFailure {
    let silent = causes_of(&error)
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::TimedOut);
    body(place, silent || error.is_timeout()).with_source(error)
}

fn body(place: &Place, silent: bool) -> HttpFailure {
    let what = match silent {
        true => format!("{place} fell silent in the middle of its answer"),
        false => format!("the answer of {place} broke off"),
    };
    HttpFailure::new(HttpStep::Receive, what)
        .with_advice("check the network, and look into the log of the server")
}

/// The error and everything below it.
fn causes_of<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}
