//! Redirects: where we go, and where no header may ever go.

use toolwire::transport::http_client::{HttpClient, HttpPhase};

use super::raw::{FINE, RawServer, client, post};
use crate::peer::within;

fn redirect(status: &str, location: &str) -> String {
    format!("HTTP/1.1 {status}\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
}

#[tokio::test]
async fn a_redirect_within_the_origin_keeps_method_headers_and_body() {
    for status in ["307 Temporary Redirect", "308 Permanent Redirect"] {
        let server = RawServer::bind().await;
        let http = client();
        let mut request = post(server.url("/old"), "{\"id\":1}");
        request
            .headers_mut()
            .insert("authorization", "Bearer token".parse().unwrap());
        let scripted = async {
            let (first, mut connection) = server.answer_once(&redirect(status, "/new?a=b")).await;
            let second = connection.answer(FINE).await;
            (first, second)
        };
        let (answer, (first, second)) = tokio::join!(http.send(request), scripted);
        assert_eq!(answer.unwrap().status(), 200);
        assert!(first.starts_with("POST /old HTTP/1.1\r\n"), "{first}");
        assert_eq!(second, first.replace("/old", "/new?a=b"));
        assert!(second.contains("authorization: Bearer token"), "{second}");
        assert!(second.ends_with("{\"id\":1}"), "{second}");
    }
}

#[tokio::test]
async fn five_redirects_are_followed_and_no_sixth() {
    for (count, followed) in [(5, true), (6, false)] {
        let server = RawServer::bind().await;
        let http = client();
        let request = post(server.url("/0"), "{}");
        let scripted = async {
            let mut connection = server.accept().await;
            for step in 1..=count {
                let there = redirect("307 Temporary Redirect", &format!("/{step}"));
                connection.answer(&there).await;
            }
            if followed {
                connection.answer(FINE).await;
            }
            connection
        };
        let (answer, _connection) = tokio::join!(http.send(request), scripted);
        match answer {
            Ok(answer) => assert!(followed && answer.status() == 200),
            Err(failure) => {
                assert!(!followed, "{failure:?}");
                assert_eq!(failure.step(), HttpPhase::Redirect);
                let last = server.url("/6");
                let expected = format!("more than 5 redirects, the last of them to {last}");
                assert_eq!(failure.message(), expected);
            }
        }
    }
}

#[tokio::test]
async fn another_origin_is_named_and_never_asked() {
    let (server, other) = (RawServer::bind().await, RawServer::bind().await);
    let cases = [
        ("307 Temporary Redirect", other.url("/mcp")),
        ("308 Permanent Redirect", other.url("/mcp")),
        ("302 Found", other.url("/mcp")),
        ("303 See Other", server.url("/mcp")),
    ];
    for (status, location) in cases {
        let http = client();
        let answer = redirect(status, &location);
        let (answer, _) = tokio::join!(
            within(http.send(post(server.url("/"), "{}"))),
            server.answer_once(&answer)
        );
        let failure = answer.expect_err("it is not followed");
        assert_eq!(failure.step(), HttpPhase::Redirect);
        assert!(
            failure.message().ends_with(&format!(" {location}")),
            "{failure}"
        );
        assert_eq!(failure.advice(), Some("use that URL if you trust it"));
    }
    assert!(other.is_untouched().await);
    assert!(server.is_untouched().await);
}
