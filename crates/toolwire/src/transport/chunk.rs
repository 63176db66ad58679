//! What a connection reads: bytes, and who sent them where every message has a sender of its own.

use std::sync::Arc;

use crate::engine::TokenInfo;

/// Bytes of the input of a connection.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) bytes: Vec<u8>,
    /// What the token says that the bytes came with; `None` where the connection has one sender.
    pub(crate) token: Option<Arc<TokenInfo>>,
}

impl From<Vec<u8>> for Chunk {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, token: None }
    }
}
