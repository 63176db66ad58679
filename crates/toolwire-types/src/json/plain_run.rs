//! Finds the first byte of a string that JSON must escape or that ends a JSON string.

/// The size in bytes of the blocks in which long runs are scanned.
const BLOCK: usize = 32;

/// The length in bytes up to which a run is scanned in words of 8 bytes.
const SHORT: usize = 16;

/// Returns the number of leading bytes that are neither a quote, a backslash nor a control character.
#[doc(hidden)]
#[must_use]
#[inline]
pub fn plain_run(bytes: &[u8]) -> usize {
    // Most names are shorter than a word.
    match bytes.first_chunk().map(|word| first_special(*word)) {
        Some(Some(at)) => at,
        Some(None) => longer_run(bytes, 8),
        None => plain_end(bytes, 0),
    }
}

/// Continues [`plain_run`] after `known` plain bytes.
fn longer_run(bytes: &[u8], known: usize) -> usize {
    let mut run = known;
    while let Some(word) = bytes[run..].first_chunk() {
        if let Some(at) = first_special(*word) {
            return run + at;
        }
        run += 8;
        if run == SHORT {
            run += plain_blocks(&bytes[run..]);
        }
    }
    plain_end(bytes, run)
}

/// Returns the number of leading plain bytes, counted in whole blocks.
#[inline]
fn plain_blocks(bytes: &[u8]) -> usize {
    let blocks = bytes.as_chunks().0.iter();
    blocks.take_while(|block| !has_special(block)).count() * BLOCK
}

/// Completes [`plain_run`] after `run` plain bytes, if less than a word remains.
#[inline]
fn plain_end(bytes: &[u8], run: usize) -> usize {
    if let Some(last) = bytes.last_chunk() {
        // The last word of the text. It overlaps bytes that are known to be plain.
        return match first_special(*last) {
            Some(at) => bytes.len() - 8 + at,
            None => bytes.len(),
        };
    }
    // The text is shorter than a word, so no byte is checked yet.
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(&[a, b, c, d]), Some(&[e, f, g, h])) => {
            // The first and the last 4 bytes, which may overlap.
            match first_special([a, b, c, d, e, f, g, h]) {
                Some(at) if at < 4 => at,
                Some(at) => bytes.len() + at - 8,
                None => bytes.len(),
            }
        }
        _ => {
            let rest = bytes[run..].iter();
            run + rest.take_while(|&&byte| !is_special(byte)).count()
        }
    }
}

#[inline]
fn has_special(block: &[u8; BLOCK]) -> bool {
    // Without an early exit, the compiler compares many bytes with one instruction.
    block
        .iter()
        .fold(false, |any, &byte| any | is_special(byte))
}

#[inline]
fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// Returns the index of the first special byte.
#[inline]
fn first_special(word: [u8; 8]) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH_BITS: u64 = ONES << 7;

    let word = u64::from_le_bytes(word);
    // The subtraction sets the high bit of each byte that is less than the subtrahend. A borrow can set wrong marks in
    // higher bytes, but the lowest mark is always correct, and only the lowest mark is used.
    let control = word.wrapping_sub(ONES * 0x20);
    let quote = (word ^ (ONES * u64::from(b'"'))).wrapping_sub(ONES);
    let backslash = (word ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES);
    let marks = (control | quote | backslash) & !word & HIGH_BITS;
    (marks != 0).then(|| marks.trailing_zeros() as usize / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_ends_at_the_first_special_byte() {
        for special in [b'"', b'\\', 0, 0x1F, b'\n'] {
            for length in 0..300 {
                let mut bytes = vec![b'x'; length];
                bytes.push(special);
                bytes.extend_from_slice(b"tail with \" and \\ and \x01 of its own");
                assert_eq!(plain_run(&bytes), length, "{special:#x} after {length}");
                // The text may end shortly after the special byte.
                for end in length..bytes.len().min(length + 10) {
                    let run = plain_run(&bytes[..end]);
                    assert_eq!(run, length.min(end), "{special:#x} of {end}");
                }
            }
        }
    }

    #[test]
    fn all_other_bytes_are_plain() {
        let plain: Vec<u8> = (0..=255).filter(|&byte| !is_special(byte)).collect();
        for length in 0..plain.len() {
            let bytes = [&plain[length..], &plain[..length]].concat();
            assert_eq!(plain_run(&bytes), bytes.len());
            assert_eq!(plain_run(&bytes[length..]), bytes.len() - length);
        }
    }
}
