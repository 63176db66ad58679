//! Forwards methods of `AsyncRead` and `AsyncWrite` to a field.

/// Defines the named methods of `AsyncRead` or `AsyncWrite`, which forward to a field: `forward_io!(stream: poll_flush)`.
macro_rules! forward_io {
    ($field:ident: $($method:ident),+) => {
        $(forward_io!(@$method $field);)+
    };
    (@poll_read $field:ident) => {
        fn poll_read(
            mut self: std::pin::Pin<&mut Self>,
            context: &mut std::task::Context<'_>,
            buffer: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            std::pin::Pin::new(&mut self.$field).poll_read(context, buffer)
        }
    };
    (@poll_write $field:ident) => {
        fn poll_write(
            mut self: std::pin::Pin<&mut Self>,
            context: &mut std::task::Context<'_>,
            bytes: &[u8],
        ) -> std::task::Poll<std::io::Result<usize>> {
            std::pin::Pin::new(&mut self.$field).poll_write(context, bytes)
        }
    };
    (@poll_write_vectored $field:ident) => {
        fn poll_write_vectored(
            mut self: std::pin::Pin<&mut Self>,
            context: &mut std::task::Context<'_>,
            slices: &[std::io::IoSlice<'_>],
        ) -> std::task::Poll<std::io::Result<usize>> {
            std::pin::Pin::new(&mut self.$field).poll_write_vectored(context, slices)
        }
    };
    (@is_write_vectored $field:ident) => {
        fn is_write_vectored(&self) -> bool {
            self.$field.is_write_vectored()
        }
    };
    // `poll_flush` and `poll_shutdown`.
    (@$method:ident $field:ident) => {
        fn $method(
            mut self: std::pin::Pin<&mut Self>,
            context: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            std::pin::Pin::new(&mut self.$field).$method(context)
        }
    };
}

pub(super) use forward_io;
