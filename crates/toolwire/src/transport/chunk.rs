//! What a connection reads: bytes, and who sent them where every message has a sender of its own.

use std::fmt::Debug;
use std::sync::Arc;

use crate::engine::TokenInfo;

/// Bytes of the input of a connection.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) bytes: Vec<u8>,
    /// Who sent the bytes; `None` where the connection has one sender.
    pub(crate) sender: Option<ChunkSender>,
}

/// The sender of a chunk.
#[derive(Debug)]
pub(crate) struct ChunkSender {
    /// What the token says that the bytes came with.
    pub(crate) token: Arc<TokenInfo>,
    /// Held until every request of the chunk has ended; `None` where the chunk is counted elsewhere.
    pub(crate) permit: Option<ChunkPermit>,
}

/// Whatever counts the bytes of a chunk, released when the last clone is dropped.
pub(crate) type ChunkPermit = Arc<dyn Debug + Send + Sync>;

impl From<Vec<u8>> for Chunk {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            sender: None,
        }
    }
}
