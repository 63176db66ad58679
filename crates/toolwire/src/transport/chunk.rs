//! Input of a connection: bytes, and their sender where every message has its own.

use std::fmt::Debug;
use std::sync::Arc;

use crate::engine::TokenInfo;

/// Bytes of the input of a connection.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) bytes: Vec<u8>,
    /// The sender of the bytes. `None` if the connection has one sender.
    pub(crate) sender: Option<ChunkSender>,
}

/// The sender of a chunk.
#[derive(Debug)]
pub(crate) struct ChunkSender {
    /// The token that was sent with the bytes.
    pub(crate) token: Arc<TokenInfo>,
    /// Released after every request of the chunk has ended. `None` if the chunk is counted elsewhere.
    pub(crate) permit: Option<ChunkPermit>,
}

/// Counts the bytes of a chunk, and is released when the last clone is dropped.
pub(crate) type ChunkPermit = Arc<dyn Debug + Send + Sync>;

impl From<Vec<u8>> for Chunk {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            sender: None,
        }
    }
}
