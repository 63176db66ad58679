//! Random changes of the bytes of requests.

use proptest::prelude::*;
use proptest::sample::Index;
use toolwire_tests::http::request::Request;

/// Returns one or two requests with changed bytes.
pub(crate) fn mutated(requests: Vec<Request>) -> impl Strategy<Value = Vec<u8>> {
    let mutations = proptest::collection::vec(Mutation::any(), 0..4);
    let request = (proptest::sample::select(requests), mutations);
    proptest::collection::vec(request, 1..3).prop_map(|requests| {
        let requests = requests.into_iter().map(|(request, mutations)| {
            let mut bytes = request.bytes();
            for mutation in &mutations {
                mutation.apply(&mut bytes);
            }
            bytes
        });
        requests.collect::<Vec<_>>().concat()
    })
}

/// A change of the bytes of a request.
#[derive(Debug, Clone)]
enum Mutation {
    Replace(Index, u8),
    Insert(Index, u8),
    Remove(Index),
    /// Repeats a line, most often a header.
    RepeatLine(Index),
    RemoveLine(Index),
    Truncate(Index),
}

impl Mutation {
    fn any() -> impl Strategy<Value = Self> {
        let byte = || {
            prop_oneof![
                any::<u8>(),
                proptest::sample::select(&b" \t\r\n:;,/0aZ\0"[..])
            ]
        };
        prop_oneof![
            4 => (any::<Index>(), byte()).prop_map(|(at, byte)| Self::Replace(at, byte)),
            4 => (any::<Index>(), byte()).prop_map(|(at, byte)| Self::Insert(at, byte)),
            4 => any::<Index>().prop_map(Self::Remove),
            4 => any::<Index>().prop_map(Self::RepeatLine),
            2 => any::<Index>().prop_map(Self::RemoveLine),
            1 => any::<Index>().prop_map(Self::Truncate),
        ]
    }

    fn apply(&self, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        if length == 0 {
            return;
        }
        match self {
            Self::Replace(at, byte) => bytes[at.index(length)] = *byte,
            Self::Insert(at, byte) => bytes.insert(at.index(length), *byte),
            Self::Remove(at) => drop(bytes.remove(at.index(length))),
            Self::Truncate(at) => bytes.truncate(at.index(length)),
            Self::RepeatLine(at) | Self::RemoveLine(at) => {
                let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
                let chosen = at.index(lines.len());
                let copies = if matches!(self, Self::RepeatLine(_)) {
                    2
                } else {
                    0
                };
                let lines = lines.iter().enumerate().flat_map(|(index, line)| {
                    std::iter::repeat_n(*line, if index == chosen { copies } else { 1 })
                });
                *bytes = lines.collect::<Vec<_>>().concat();
            }
        }
    }
}
