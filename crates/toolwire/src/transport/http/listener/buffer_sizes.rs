//! Buffer sizes that HTTP/1.1 and HTTP/2 connections share.

/// The minimum limit of the buffers of one connection, in each direction.
pub(crate) const BUFFER: usize = 64 * 1024;

/// The bytes of a header section without its fields: method, path and version.
pub(crate) const REQUEST_LINE: usize = 8 * 1024;
