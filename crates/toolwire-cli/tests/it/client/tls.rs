//! HTTPS servers with certificates that the system does not trust.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use toolwire::transport::http::{HttpOptions, tls};
use toolwire::{Server, tool};

use crate::client::domains::domain_of;
use crate::client::small_server::SmallServer;
use crate::client::{TempDirectory, run};

/// Greets the caller.
#[tool]
async fn greet() -> &'static str {
    "hello"
}

/// Starts a server with a certificate of a new authority. Returns the certificate of the authority in PEM.
async fn start() -> (SmallServer, String) {
    start_with("127.0.0.1", HttpOptions::new()).await
}

/// Starts a server on this machine with a certificate for this host.
pub(crate) async fn start_with(host: &str, options: HttpOptions) -> (SmallServer, String) {
    let mut params = CertificateParams::new(Vec::new()).expect("no names are valid");
    params
        .distinguished_name
        .push(DnType::CommonName, "an authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key can be generated");
    let authority = CertifiedIssuer::self_signed(params, key).expect("the parameters are valid");
    let key = KeyPair::generate().expect("a key can be generated");
    let params = CertificateParams::new(vec![host.to_owned()]).expect("a valid host");
    let certificate = params
        .signed_by(&key, &authority)
        .expect("the parameters are valid");
    let config = tls::config_from_pem(certificate.pem().as_bytes(), key.serialize_pem().as_bytes())
        .expect("the certificate fits the key");
    let server = Server::new("secure", "1.0.0").tool(greet);
    let options = options
        .with_tls(config)
        .with_server_card("com.example/secure");
    let server = SmallServer::start_with(server, options).await;
    assert!(server.url().starts_with("https://"), "{}", server.url());
    (server, authority.pem())
}

#[tokio::test]
async fn certificate_of_an_unknown_issuer_is_rejected_with_the_options() {
    let (server, _) = start().await;
    let text = run(&["call", server.url(), "greet"]).await.failed(3);
    assert!(text.starts_with("toolwire: TLS: "), "{text}");
    assert!(text.contains("--cacert FILE"), "{text}");
    assert!(text.contains("--insecure"), "{text}");
}

#[tokio::test]
async fn issuer_can_be_trusted() {
    let (server, pem) = start().await;
    let directory = TempDirectory::new("cacert");
    let file = directory.write("ca.pem", &pem);
    let ran = run(&["call", server.url(), "greet", "--cacert", &file]).await;
    assert_eq!(ran.stderr, "", "{ran:?}");
    assert_eq!(ran.ok(), "hello\n");
    // Another authority does not help.
    let (_, other) = start().await;
    let file = directory.write("other.pem", &other);
    let text = run(&["call", server.url(), "greet", "--cacert", &file]).await;
    assert!(text.failed(3).starts_with("toolwire: TLS: "));
}

#[tokio::test]
async fn catalog_of_a_domain_is_read_over_tls() {
    let (server, pem) = start().await;
    let directory = TempDirectory::new("domain-cacert");
    let file = directory.write("ca.pem", &pem);
    let domain = domain_of(server.url());
    let found = run(&["discover", domain, "--cacert", &file, "--json"]).await;
    let found = found.json();
    assert_eq!(
        found["servers"][0]["card"]["remotes"][0]["url"],
        server.url()
    );
}

#[tokio::test]
async fn every_certificate_can_be_accepted_with_a_warning() {
    let (server, _) = start().await;
    let ran = run(&["call", server.url(), "greet", "--insecure"]).await;
    assert!(ran.stderr.contains("warning: --insecure"), "{ran:?}");
    assert_eq!(ran.ok(), "hello\n");
}

#[tokio::test]
async fn invalid_certificate_files_are_named() {
    let directory = TempDirectory::new("invalid-cacert");
    let file = directory.write("notes.txt", "no certificate");
    let url = "https://127.0.0.1:1/mcp";
    let text = run(&["tools", url, "--cacert", &file]).await.failed(2);
    assert!(text.contains("notes.txt"), "{text}");
    assert!(text.contains("BEGIN CERTIFICATE"), "{text}");
    let text = run(&["tools", url, "--cacert", "no-such.pem"]).await;
    assert!(text.failed(2).contains("no-such.pem cannot be read"));
    let text = run(&["tools", "--insecure", "--", "true"]).await.failed(2);
    assert!(text.contains("need an address"), "{text}");
    let both = ["tools", url, "--insecure", "--cacert", &file];
    assert!(run(&both).await.failed(2).contains("--cacert"));
}
