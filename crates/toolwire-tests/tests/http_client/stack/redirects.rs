//! Redirects: which are followed, and that no header reaches another origin.

use toolwire::transport::http_client::{HttpClient, HttpPhase};
use toolwire_tests::http_client_stack::raw::{FINE, RawServer, client, post};
use toolwire_tests::peer::within;

fn redirect(status: &str, location: &str) -> String {
    format!("HTTP/1.1 {status}\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
}

#[tokio::test]
async fn redirect_within_the_origin_preserves_method_headers_and_body() {
    for status in ["307 Temporary Redirect", "308 Permanent Redirect"] {
        let server = RawServer::bind().await;
        let http = client();
        let mut request = post(server.url("/old"), "{\"id\":1}");
        request
            .headers_mut()
            .insert("authorization", "Bearer token".parse().unwrap());
        let scripted = async {
            let (first, mut connection) = server.respond_once(&redirect(status, "/new?a=b")).await;
            let second = connection.respond(FINE).await;
            (first, second)
        };
        let (response, (first, second)) = tokio::join!(http.send(request), scripted);
        assert_eq!(response.unwrap().status(), 200);
        assert!(first.starts_with("POST /old HTTP/1.1\r\n"), "{first}");
        assert_eq!(second, first.replace("/old", "/new?a=b"));
        assert!(second.contains("authorization: Bearer token"), "{second}");
        assert!(second.ends_with("{\"id\":1}"), "{second}");
    }
}

#[tokio::test]
async fn sixth_redirect_is_an_error() {
    for (count, followed) in [(5, true), (6, false)] {
        let server = RawServer::bind().await;
        let http = client();
        let request = post(server.url("/0"), "{}");
        let scripted = async {
            let mut connection = server.accept().await;
            for step in 1..=count {
                let next = redirect("307 Temporary Redirect", &format!("/{step}"));
                connection.respond(&next).await;
            }
            if followed {
                connection.respond(FINE).await;
            }
            connection
        };
        let (response, _connection) = tokio::join!(http.send(request), scripted);
        match response {
            Ok(response) => assert!(followed && response.status() == 200),
            Err(failure) => {
                assert!(!followed, "{failure:?}");
                assert_eq!(failure.phase(), HttpPhase::Redirect);
                let last = server.url("/6");
                let expected = format!("more than 5 redirects, the last of them to {last}");
                assert_eq!(failure.message(), expected);
            }
        }
    }
}

#[tokio::test]
async fn redirect_to_another_origin_is_an_error_that_names_it() {
    let (server, other) = (RawServer::bind().await, RawServer::bind().await);
    let cases = [
        ("307 Temporary Redirect", other.url("/mcp")),
        ("308 Permanent Redirect", other.url("/mcp")),
        ("302 Found", other.url("/mcp")),
        ("303 See Other", server.url("/mcp")),
    ];
    for (status, location) in cases {
        let http = client();
        let response = redirect(status, &location);
        let (response, _) = tokio::join!(
            within(http.send(post(server.url("/"), "{}"))),
            server.respond_once(&response)
        );
        let failure = response.expect_err("a rejected redirect");
        assert_eq!(failure.phase(), HttpPhase::Redirect);
        assert!(
            failure.message().ends_with(&format!(" {location}")),
            "{failure}"
        );
        assert_eq!(failure.advice(), Some("use that URL if you trust it"));
    }
    assert!(other.has_no_connection().await);
    assert!(server.has_no_connection().await);
}
