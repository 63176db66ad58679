//! The size of messages, for limits in bytes.

use std::io;

use serde::Serialize;

/// Returns the number of bytes that a message takes as JSON. Writes it nowhere.
pub(super) fn encoded_size(message: &impl Serialize) -> usize {
    struct Counter(usize);

    impl io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut counter = Counter(0);
    match serde_json::to_writer(&mut counter, message) {
        Ok(()) => counter.0,
        // A message that cannot be written exceeds every limit.
        Err(_) => usize::MAX,
    }
}
