//! A body in chunks (RFC 9112, 7.1).
//!
//! Lines end with CR and LF and with nothing else. Extensions and trailers are read and forgotten.

use bytes::{Buf as _, BytesMut};

use crate::transport::http_client::http1::broken::Malformed;
use crate::transport::http_client::http1::framing::{Piece, take};

/// The longest line with a size, or of a trailer.
const LINE_BYTES: usize = 4 * 1024;
/// How many bytes trailers may have together.
const TRAILER_BYTES: usize = 16 * 1024;

/// Where in the body the next byte belongs.
#[derive(Debug, Default)]
pub(super) enum Chunked {
    /// The line with the size of a chunk.
    #[default]
    Size,
    /// So many bytes of a chunk.
    Data(u64),
    /// The end of the line behind a chunk.
    DataEnd,
    /// Trailers, which may have so many bytes.
    Trailers(usize),
    Over,
}

impl Chunked {
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Over)
    }

    /// Takes the next piece out of the bytes that came.
    pub(super) fn next(&mut self, input: &mut BytesMut) -> Result<Piece, Malformed> {
        loop {
            *self = match self {
                Self::Size => match line(input)? {
                    None => return Ok(Piece::More(0)),
                    Some(length) => {
                        let size = size(&input[..length])?;
                        input.advance(length + 2);
                        match size {
                            0 => Self::Trailers(TRAILER_BYTES),
                            size => Self::Data(size),
                        }
                    }
                },
                Self::Data(left) => match take(left, input) {
                    Piece::End => Self::DataEnd,
                    piece @ Piece::Data(_) if *left == 0 => {
                        *self = Self::DataEnd;
                        // The end of the body often came along, and then nobody has to ask again.
                        self.pass_end(input)?;
                        return Ok(piece);
                    }
                    piece => return Ok(piece),
                },
                Self::DataEnd => match input.get(..2) {
                    None if input.first().is_some_and(|first| *first != b'\r') => {
                        return Err(CROOKED);
                    }
                    None => return Ok(Piece::More(0)),
                    Some(b"\r\n") => {
                        input.advance(2);
                        Self::Size
                    }
                    Some(_) => return Err(CROOKED),
                },
                Self::Trailers(room) => match line(input)? {
                    None => return Ok(Piece::More(0)),
                    Some(0) => {
                        input.advance(2);
                        Self::Over
                    }
                    Some(length) => {
                        let room = room.checked_sub(length + 2);
                        input.advance(length + 2);
                        Self::Trailers(room.ok_or(Malformed("trailers that are too long"))?)
                    }
                },
                Self::Over => return Ok(Piece::End),
            };
        }
    }

    /// Goes past the end of the body where that is there already, and no further.
    fn pass_end(&mut self, input: &mut BytesMut) -> Result<(), Malformed> {
        if input.starts_with(b"\r\n0\r\n") {
            self.next(input)?;
        }
        Ok(())
    }
}

const CROOKED: Malformed = Malformed("a chunk that does not end where it should");

/// How long the line is that the bytes begin with, without its end; `None` when it is not complete.
fn line(input: &[u8]) -> Result<Option<usize>, Malformed> {
    const LONG: Malformed = Malformed("a line between chunks that is too long");
    let Some(end) = memchr::memchr(b'\n', input) else {
        return match input.len() > LINE_BYTES {
            true => Err(LONG),
            false => Ok(None),
        };
    };
    match input[..end].split_last() {
        _ if end > LINE_BYTES => Err(LONG),
        Some((b'\r', line)) if !line.contains(&b'\r') => Ok(Some(line.len())),
        _ => Err(Malformed("a line between chunks without its end")),
    }
}

/// The size in a line, of 16 digits at most; what follows a semicolon is an extension.
fn size(line: &[u8]) -> Result<u64, Malformed> {
    const NONE: Malformed = Malformed("a chunk without a size");
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit());
    let (size, rest) = line.split_at(digits.count());
    if size.is_empty() || size.len() > 16 {
        return Err(NONE);
    }
    match rest.trim_ascii_start().first() {
        None | Some(b';') => {}
        Some(_) => return Err(NONE),
    }
    let size = std::str::from_utf8(size).map_err(|_| NONE)?;
    u64::from_str_radix(size, 16).map_err(|_| NONE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What comes out of a body whose bytes come in these pieces, and what is left behind it.
    fn read<'a>(
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(String, bool, String), String> {
        let mut chunked = Chunked::default();
        let mut input = BytesMut::new();
        let mut text = Vec::new();
        for piece in pieces {
            input.extend_from_slice(piece);
            while let Piece::Data(data) = chunked.next(&mut input).map_err(|e| e.to_string())? {
                text.extend_from_slice(&data);
            }
        }
        let text = String::from_utf8(text).unwrap();
        let rest = String::from_utf8(input.to_vec()).unwrap();
        Ok((text, chunked.is_over(), rest))
    }

    /// Reads a body in one piece, and byte by byte, to the same end.
    #[track_caller]
    fn check(body: &str, expected: Result<(&str, bool, &str), &str>) {
        let expected = expected
            .map(|(text, over, rest)| (text.to_owned(), over, rest.to_owned()))
            .map_err(str::to_owned);
        assert_eq!(read([body.as_bytes()]), expected, "{body:?}");
        assert_eq!(read(body.as_bytes().chunks(1)), expected, "{body:?}");
    }

    #[test]
    fn chunks_become_the_body() {
        check(
            "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n",
            Ok(("onetwo", true, "")),
        );
        check("0\r\n\r\n", Ok(("", true, "")));
        check(
            "00A\r\n0123456789\r\n0\r\n\r\n",
            Ok(("0123456789", true, "")),
        );
        check("1;a=b\r\nx\r\n0;c=\"d\"\r\n\r\n", Ok(("x", true, "")));
        check(
            "1 ;a\r\nx\r\n0\r\nX: y\r\nZ: z\r\n\r\n",
            Ok(("x", true, "")),
        );
        check("1\r\nx\r\n0\r\n\r\nHTTP", Ok(("x", true, "HTTP")));
    }

    #[test]
    fn a_body_that_is_not_over_says_so() {
        check("3\r\non", Ok(("on", false, "")));
        check("3\r\none\r", Ok(("one", false, "\r")));
        check("1\r\nx\r\n0\r\nX: y\r\n", Ok(("x", false, "")));
        check("", Ok(("", false, "")));
    }

    #[test]
    fn crooked_sizes_are_refused() {
        let none = Err("a chunk without a size");
        for size in [
            "",
            "x",
            "-1",
            "+1",
            "0x1",
            " 1",
            "1 1",
            "1,",
            "g",
            "\u{e9}",
            "11111111111111111",
        ] {
            check(&format!("{size}\r\nx\r\n"), none);
        }
        let line = Err("a line between chunks without its end");
        check("1\nx\r\n", line);
        check("1\r\r\nx\r\n", line);
        check("1;a\rb\r\nx\r\n", line);
        check("0\r\n\n", line);
        check("0\r\nX: y\n\r\n", line);
    }

    #[test]
    fn a_chunk_ends_with_its_line() {
        let crooked = Err("a chunk that does not end where it should");
        check("1\r\nxy\r\n", crooked);
        check("1\r\nx\n0\r\n\r\n", crooked);
        check("1\r\nx\rX", crooked);
    }

    #[test]
    fn lines_and_trailers_have_bounds() {
        let extended = |length: usize| format!("1;{}\r\nx\r\n0\r\n\r\n", "a".repeat(length));
        // The line with its CR, which counts as long as it is not known to be the end.
        check(&extended(LINE_BYTES - 3), Ok(("x", true, "")));
        check(
            &extended(LINE_BYTES - 2),
            Err("a line between chunks that is too long"),
        );
        let trailers = |lines: usize| format!("0\r\n{}\r\n", "X: 12345678901\r\n".repeat(lines));
        check(&trailers(TRAILER_BYTES / 16), Ok(("", true, "")));
        check(
            &trailers(TRAILER_BYTES / 16 + 1),
            Err("trailers that are too long"),
        );
    }

    #[test]
    fn sizes_go_up_to_the_largest_number() {
        let mut chunked = Chunked::default();
        let mut input = BytesMut::from("ffffffffffffffff\r\n");
        assert_eq!(chunked.next(&mut input), Ok(Piece::More(u64::MAX)));
    }

    proptest! {
        #[test]
        fn whatever_comes_how_it_is_cut_makes_no_difference(
            body in "([0-9a-f]{0,2}(;x)?\r?\n[a-z]{0,4}(\r\n)?){0,4}(0\r\n)?(\r\n)?",
            cuts in prop::collection::vec(1_usize..8, 1..40),
        ) {
            let whole = read([body.as_bytes()]);
            let mut rest = body.as_bytes();
            let mut pieces = Vec::new();
            for cut in cuts.iter().cycle().take(body.len()) {
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            prop_assert_eq!(read(pieces), whole);
        }
    }
}
