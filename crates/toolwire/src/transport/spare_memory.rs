//! Retains freed heap memory in the process between two messages.

use std::hint::black_box;
use std::sync::Once;

/// The size of most long messages, with everything that is allocated for them.
const PIECE: usize = 512 * 1024;

/// Makes the allocator retain the memory of a long message for the next one.
///
/// The GNU C library returns freed memory to the system as soon as 128 KiB are free at the end of a heap. The next
/// allocation requests it again page by page. Messages of about that size cause this every time, and it costs as much
/// as the rest of the request. After an allocation of a larger block was freed, the library retains twice its size.
/// This function frees one such block. Nothing is written to it, so it uses no memory. Other allocators are not
/// affected.
pub(crate) fn retain_heap() {
    static RETAINED: Once = Once::new();
    RETAINED.call_once(|| drop(black_box(Vec::<u8>::with_capacity(PIECE))));
}
