//! Which connection a request goes over, and that it goes over one only.

use std::time::Duration;

use http::Request;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::transport::http_client::addresses::Addresses;
use crate::transport::http_client::connector::Plan;
use crate::transport::http_client::proxy::HttpProxies;
use crate::transport::http_client::tls::Trust;
use crate::transport::http_client::wire::failing_socket;
use crate::transport::http_client::{HttpClient as _, HyperHttp};

fn pool() -> Pool {
    let connector = Connector::new(Plan {
        timeout: Duration::from_secs(1),
        addresses: Addresses::default(),
        proxies: HttpProxies::none().rules(),
        trust: Trust::native(),
    });
    let limits = IdleLimits {
        time: Duration::from_secs(1),
        connections: 1,
    };
    Pool::new(connector, limits, 8192)
}

fn origin(pool: &Pool, url: &str) -> Arc<Origin> {
    pool.origin(&Uri::try_from(url).unwrap()).unwrap()
}

#[test]
fn a_server_is_known_by_its_scheme_its_host_and_its_port() {
    let pool = pool();
    let one = origin(&pool, "http://example.com/mcp");
    for (url, same) in [
        ("http://example.com/other?a=b", true),
        ("https://example.com/mcp", false),
        ("http://example.com:8080/mcp", false),
        ("http://other.example/mcp", false),
    ] {
        assert_eq!(Arc::ptr_eq(&one, &origin(&pool, url)), same, "{url}");
    }
}

#[test]
fn servers_without_connections_are_forgotten() {
    let pool = pool();
    let used = origin(&pool, "http://used.example/");
    for number in 0..100 {
        origin(&pool, &format!("http://host{number}.example/"));
    }
    let known = pool.origins.lock().unwrap().len();
    assert_eq!(known, 2, "the one that is used, and the last one");
    assert!(Arc::ptr_eq(&used, &origin(&pool, "http://used.example/")));
}

/// More than TLS has in one record, and than is written in one piece.
const LONG: usize = 100 * 1024;

/// A server, and a client that has used a connection to it once.
struct Stage {
    http: HyperHttp,
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
}

trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

impl Stage {
    async fn new(is_secure: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let http = HyperHttp::new().without_proxy().without_native_roots();
        let (pem, acceptor) = acceptor();
        let http = http.with_root_certificates(pem.as_bytes()).unwrap();
        Self {
            http: http.with_address("server.invalid", listener.local_addr().unwrap()),
            listener,
            acceptor: is_secure.then_some(acceptor),
        }
    }

    async fn accept(&self) -> Box<dyn Stream> {
        let (stream, _) = within(self.listener.accept()).await.unwrap();
        match &self.acceptor {
            Some(acceptor) => Box::new(within(acceptor.accept(stream)).await.unwrap()),
            None => Box::new(stream),
        }
    }

    async fn send(&self, length: usize) -> Result<http::StatusCode, HttpFailure> {
        let scheme = if self.acceptor.is_some() {
            "https"
        } else {
            "http"
        };
        let request = Request::post(format!("{scheme}://server.invalid/"))
            .body(Bytes::from(vec![b'x'; length]))
            .unwrap();
        let answer = within(self.http.send(request)).await?;
        let status = answer.status();
        within(answer.into_body().read_whole(4)).await?;
        Ok(status)
    }

    /// Gets an answer over a connection of its own, which is used again.
    async fn used_once(&self) -> Box<dyn Stream> {
        let (answer, connection) = tokio::join!(self.send(1), async {
            let mut connection = self.accept().await;
            answer(&mut *connection, 1).await;
            connection
        });
        assert_eq!(answer.unwrap(), 200);
        connection
    }
}

/// A certificate of an authority, and a server that has it.
fn acceptor() -> (String, TlsAcceptor) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["server.invalid".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    (authority.pem(), TlsAcceptor::from(Arc::new(config)))
}

/// Reads a request whose body has this length, and answers it.
async fn answer(connection: &mut dyn Stream, length: usize) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        request.push(within(connection.read_u8()).await.unwrap());
    }
    let mut body = vec![0; length];
    within(connection.read_exact(&mut body)).await.unwrap();
    let fine = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine";
    within(connection.write_all(fine)).await.unwrap();
    within(connection.flush()).await.unwrap();
}

async fn within<T>(waiting: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(Duration::from_secs(20), waiting).await;
    waited.expect("nothing happened for a long time")
}

/// Everything that comes until the other end is gone, or breaks off.
async fn rest_of(mut connection: Box<dyn Stream>) -> usize {
    let mut rest = Vec::new();
    let _ = within(connection.read_to_end(&mut rest)).await;
    rest.len()
}

#[tokio::test]
async fn a_request_of_which_nothing_was_written_goes_over_another_connection() {
    for is_secure in [false, true] {
        for length in [1, LONG] {
            let stage = Stage::new(is_secure).await;
            let old = stage.used_once().await;
            failing_socket::fail_after(0);
            let (status, _new, left) = tokio::join!(
                stage.send(length),
                async {
                    let mut new = stage.accept().await;
                    answer(&mut *new, length).await;
                    new
                },
                rest_of(old)
            );
            assert_eq!(status.unwrap(), 200);
            assert_eq!(left, 0, "it goes over one connection only");
            assert!(!failing_socket::is_still_to_fail());
        }
    }
}

#[tokio::test]
async fn a_request_of_which_something_was_written_is_never_sent_again() {
    for is_secure in [false, true] {
        for bytes in [1, 20_000] {
            let stage = Stage::new(is_secure).await;
            let old = stage.used_once().await;
            failing_socket::fail_after(bytes);
            let asking = async {
                let sent = stage.send(LONG).await;
                sent.expect_err("the connection broke")
            };
            // One who could not write looks for an answer first, so the server has to leave.
            let leaving = async {
                while failing_socket::is_still_to_fail() {
                    tokio::task::yield_now().await;
                }
                drop(old);
            };
            let (failure, ()) = tokio::join!(asking, within(leaving));
            assert!(failure.may_have_arrived(), "{failure}");
            assert!(!failing_socket::is_still_to_fail());
            let another = tokio::time::timeout(Duration::ZERO, stage.listener.accept()).await;
            assert!(another.is_err(), "it was sent again");
        }
    }
}

#[tokio::test]
async fn a_request_over_a_new_connection_is_not_tried_again() {
    let stage = Stage::new(false).await;
    failing_socket::fail_after(0);
    let failure = stage.send(1).await.unwrap_err();
    assert!(!failure.may_have_arrived(), "{failure}");
}
