//! The number of this node, and the ids that contain it.
//!
//! Several nodes may send requests to the client of one session, and the client may respond to any of them. The id of a
//! request has 16 bits for the number of its node, and 36 bits that count. Every client handles integers of that size. The
//! ids of a node without a number start with 0. Responses to its requests cannot be forwarded to it.

use std::num::NonZeroU16;
use std::time::Duration;

use tokio::sync::watch;
use toolwire_types::RequestId;

/// The number of bits of an id that count.
const COUNTER_BITS: u32 = 36;

/// How long a request waits for the number of a node that has just started.
const NUMBER_TIMEOUT: Duration = Duration::from_secs(1);

/// The number of this node.
#[derive(Debug)]
pub(crate) struct NodeNumber {
    /// Whether this node has mailboxes, and so gets a number.
    is_expected: bool,
    number: watch::Sender<Option<NonZeroU16>>,
}

impl Default for NodeNumber {
    /// Creates the number of a node that never gets one.
    fn default() -> Self {
        Self::new(false)
    }
}

impl NodeNumber {
    pub(crate) fn new(is_expected: bool) -> Self {
        Self {
            is_expected,
            number: watch::Sender::new(None),
        }
    }

    pub(crate) fn is_expected(&self) -> bool {
        self.is_expected
    }

    pub(crate) fn current(&self) -> Option<NonZeroU16> {
        *self.number.borrow()
    }

    pub(crate) fn set(&self, number: Option<NonZeroU16>) {
        self.number.send_replace(number);
    }

    /// Returns the number. A node that has just started waits for its number, for at most a second.
    pub(crate) async fn wait(&self) -> Option<NonZeroU16> {
        if self.is_expected && self.current().is_none() {
            let mut number = self.number.subscribe();
            let leased = number.wait_for(Option::is_some);
            let _ = tokio::time::timeout(NUMBER_TIMEOUT, leased).await;
        }
        self.current()
    }
}

/// Returns the first id of a node for one client. The counter starts at a random number, so that the ids of a session do
/// not repeat. At least half of the range is left for counting.
#[cfg(feature = "input")]
pub(crate) fn first_id(number: Option<NonZeroU16>) -> i64 {
    let unused_bits = u64::BITS - (COUNTER_BITS - 1);
    let counter = getrandom::u64().map_or(0, |random| (random >> unused_bits).cast_signed());
    (i64::from(number.map_or(0, NonZeroU16::get)) << COUNTER_BITS) + counter + 1
}

/// Returns the number in the id of a request, or `None` if it has none.
pub(crate) fn node_of(id: &RequestId) -> Option<NonZeroU16> {
    let RequestId::Number(id) = id else {
        return None;
    };
    let number = u16::try_from(id >> COUNTER_BITS).ok()?;
    NonZeroU16::new(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u16) -> Option<NonZeroU16> {
        NonZeroU16::new(number)
    }

    #[test]
    #[cfg(feature = "input")]
    fn ids_contain_the_number_and_are_exact_in_every_client() {
        for number in [0, 1, 7, u16::MAX] {
            for _ in 0..100 {
                let first = first_id(node(number));
                // Half of the range of the counter.
                for id in [first, first + (1 << 35) - 1] {
                    assert_eq!(node_of(&RequestId::Number(id)), node(number));
                    assert!((1..1 << 53).contains(&id), "{id}");
                }
            }
        }
    }

    #[test]
    fn other_ids_have_no_number() {
        for id in [0, 1, -1, i64::MIN, i64::MAX, 1 << 52, (1 << 36) - 1] {
            assert_eq!(node_of(&RequestId::Number(id)), None, "{id}");
        }
        assert_eq!(node_of(&RequestId::from("68719476737")), None);
    }

    #[tokio::test(start_paused = true)]
    async fn request_waits_for_the_number_of_a_new_node() {
        let number = NodeNumber::new(true);
        assert_eq!(number.wait().await, None);
        let (waited, ()) = tokio::join!(number.wait(), async { number.set(node(3)) });
        assert_eq!(waited, node(3));
        let start = tokio::time::Instant::now();
        assert_eq!(NodeNumber::default().wait().await, None);
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}
