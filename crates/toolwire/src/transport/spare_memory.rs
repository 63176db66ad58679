//! Memory that stays with the process between two messages.

use std::hint::black_box;
use std::sync::Once;

/// A piece that is as long as most long messages with everything that is made of them.
const PIECE: usize = 512 * 1024;

/// Lets the allocator keep what one long message has needed for the next one.
///
/// That of the GNU C library gives freed memory back to the system as soon as 128 KiB lie free at the end of a heap, and
/// then has to take it again, page by page. Messages of about that length meet this every time, and it costs as much as
/// all the rest of the request. When a longer piece has come and gone, the allocator keeps twice its length: so it is
/// shown one. Nothing is written to it, so it takes no memory. Other allocators do not mind.
pub(crate) fn retain_heap() {
    static SHOWN: Once = Once::new();
    SHOWN.call_once(|| drop(black_box(Vec::<u8>::with_capacity(PIECE))));
}
