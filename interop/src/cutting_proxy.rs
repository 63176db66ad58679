//! A TCP proxy that breaks one connection, in the middle of the second message of a kind.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

const CUT_AT_OCCURRENCE: usize = 2;

/// A proxy in front of a server. It ends when this is dropped.
#[derive(Debug)]
pub struct CuttingProxy {
    address: SocketAddr,
    cuts: Arc<AtomicUsize>,
    serving: JoinHandle<()>,
}

impl CuttingProxy {
    /// Starts a proxy for the server at `target`. It breaks a connection within the second occurrence of `part` in its
    /// responses.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no free port.
    pub async fn start(target: SocketAddr, part: &'static str) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let cuts = Arc::new(AtomicUsize::new(0));
        let serving = tokio::spawn(serve(listener, target, part, Arc::clone(&cuts)));
        Ok(Self {
            address,
            cuts,
            serving,
        })
    }

    /// Returns the address for clients.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the number of broken connections: zero or one.
    #[must_use]
    pub fn cuts(&self) -> usize {
        self.cuts.load(Ordering::SeqCst)
    }
}

impl Drop for CuttingProxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(
    listener: TcpListener,
    target: SocketAddr,
    part: &'static str,
    cuts: Arc<AtomicUsize>,
) {
    while let Ok((client, _)) = listener.accept().await {
        let cuts = Arc::clone(&cuts);
        tokio::spawn(async move {
            let Ok(server) = TcpStream::connect(target).await else {
                return;
            };
            let (mut from_client, to_client) = client.into_split();
            let (from_server, mut to_server) = server.into_split();
            // Both directions end together. A connection that either side closes is not an error of the proxy.
            tokio::select! {
                _ = copy(&mut from_client, &mut to_server) => {}
                _ = forward_responses(from_server, to_client, part.as_bytes(), &cuts) => {}
            }
        });
    }
}

async fn forward_responses(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    part: &[u8],
    cuts: &AtomicUsize,
) -> io::Result<()> {
    let mut seen = Vec::new();
    loop {
        let before = seen.len();
        if from.read_buf(&mut seen).await? == 0 {
            return Ok(());
        }
        let end = end_of_occurrence(&seen, part).filter(|_| {
            let cut = cuts.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst);
            cut.is_ok()
        });
        match end {
            Some(end) => return to.write_all(&seen[before..end.max(before)]).await,
            None => to.write_all(&seen[before..]).await?,
        }
    }
}

fn end_of_occurrence(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len())
        .enumerate()
        .filter(|(_, window)| *window == part)
        .nth(CUT_AT_OCCURRENCE - 1)
        .map(|(start, _)| start + part.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn response_ends_within_the_second_message_once() {
        let response: &[u8] = b"tick 1, tick 2, tick 3";
        let cuts = AtomicUsize::new(0);
        let mut first = Vec::new();
        forward_responses(response, &mut first, b"tick", &cuts)
            .await
            .expect("writing to memory succeeds");
        assert_eq!(first, b"tick 1, tick");

        let mut second = Vec::new();
        forward_responses(response, &mut second, b"tick", &cuts)
            .await
            .expect("writing to memory succeeds");
        assert_eq!(second, response);
        assert_eq!(cuts.load(Ordering::SeqCst), 1);
    }
}
