//! Where a body ends, and how its bytes are taken out of those that came.

use bytes::{Bytes, BytesMut};

use crate::transport::http_client::http1::broken::Malformed;
use crate::transport::http_client::http1::chunked::Chunked;

/// How the end of a body is known, and how much of it is still to come.
#[derive(Debug)]
pub(super) enum Framing {
    /// After so many bytes.
    Length(u64),
    /// As its chunks say.
    Chunked(Chunked),
    /// When the connection is closed.
    UntilClose,
}

/// What bytes that came mean to a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Data(Bytes),
    /// The body needs more bytes to go on, and makes use of so many.
    More(u64),
    End,
}

impl Framing {
    pub(super) fn chunked() -> Self {
        Self::Chunked(Chunked::default())
    }

    /// Takes the next piece out of the bytes that came.
    pub(super) fn next(&mut self, input: &mut BytesMut) -> Result<Piece, Malformed> {
        Ok(match self {
            Self::Length(left) => take(left, input),
            Self::Chunked(chunked) => return chunked.next(input),
            Self::UntilClose => take(&mut { u64::MAX }, input),
        })
    }

    /// Whether nothing is to come any more.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunked(chunked) => chunked.is_over(),
            Self::UntilClose => false,
        }
    }
}

/// Takes up to so many bytes, and counts them.
pub(super) fn take(left: &mut u64, input: &mut BytesMut) -> Piece {
    if *left == 0 {
        return Piece::End;
    }
    if input.is_empty() {
        return Piece::More(*left);
    }
    let length = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
    *left -= length as u64;
    Piece::Data(input.split_to(length).freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_ends_the_body_and_leaves_what_follows() {
        let mut framing = Framing::Length(5);
        let mut input = BytesMut::from("hel");
        assert_eq!(framing.next(&mut input), Ok(Piece::Data("hel".into())));
        assert_eq!(framing.next(&mut input), Ok(Piece::More(2)));
        assert!(!framing.is_over());
        input.extend_from_slice(b"lo more");
        assert_eq!(framing.next(&mut input), Ok(Piece::Data("lo".into())));
        assert!(framing.is_over());
        assert_eq!(framing.next(&mut input), Ok(Piece::End));
        assert_eq!(input, " more");
    }

    #[test]
    fn without_a_length_everything_belongs_to_the_body() {
        let mut framing = Framing::UntilClose;
        let mut input = BytesMut::from("hello");
        assert_eq!(framing.next(&mut input), Ok(Piece::Data("hello".into())));
        assert_eq!(framing.next(&mut input), Ok(Piece::More(u64::MAX)));
        assert!(!framing.is_over());
    }
}
