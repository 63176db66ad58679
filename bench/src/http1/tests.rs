use toolwire_proto::sse::{SseDecoder, SseEvent};

use super::*;

const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\
    transfer-encoding: chunked\r\n\r\n\
    b\r\ndata: one\n\n\r\n3;note=x\r\n: k\r\n11\r\n\n\ndata: two\ndata:\r\n3\r\n 3\n\r\n1\r\n\n\r\n";

/// Decodes in pieces of this size.
fn decode(response: &str, piece: usize) -> Result<(ResponseDecoder, Vec<u8>), Malformed> {
    let mut decoder = ResponseDecoder::default();
    let mut body = Vec::new();
    for bytes in response.as_bytes().chunks(piece) {
        decoder.decode(bytes, &mut body)?;
    }
    Ok((decoder, body))
}

#[test]
fn events_are_decoded_from_chunks_of_any_size() {
    for piece in [1, 2, 3, 7, 1000] {
        let (decoder, body) = decode(STREAM, piece).unwrap();
        assert_eq!(decoder.status(), Some(200));
        assert!(decoder.is_event_stream());
        assert!(!decoder.is_finished());

        let mut events = SseDecoder::new(1024);
        let mut rest: &[u8] = &body;
        let events: Vec<_> = std::iter::from_fn(|| events.next_event(&mut rest)).collect();
        let expected = ["one", "two\n3"].map(|data| Ok(SseEvent::new(data)));
        assert_eq!(events, expected, "in pieces of {piece}");
    }
}

#[test]
fn last_chunk_ends_the_response() {
    let (decoder, _) = decode(&format!("{STREAM}0\r\nTrailer: x\r\n"), 5).unwrap();
    assert!(!decoder.is_finished());
    let (decoder, _) = decode(&format!("{STREAM}0\r\nTrailer: x\r\n\r\n"), 5).unwrap();
    assert!(decoder.is_finished());
}

#[test]
fn content_length_ends_the_response() {
    for piece in [1, 4, 1000] {
        let response = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy";
        let (decoder, body) = decode(response, piece).unwrap();
        assert_eq!(
            (decoder.status(), body.as_slice()),
            (Some(503), &b"busy"[..])
        );
        assert!(decoder.is_finished() && !decoder.is_event_stream());
    }
    let (decoder, _) = decode("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", 9).unwrap();
    assert!(decoder.is_finished());
}

#[test]
fn status_is_unknown_until_the_headers_are_complete() {
    let (decoder, _) = decode("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n", 3).unwrap();
    assert_eq!(decoder.status(), None);
}

#[test]
fn unsupported_response_is_an_error() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for response in [
        "SSH-2.0\r\n".to_owned(),
        "HTTP/1.1 200 OK\nA: b\n".to_owned(),
        "HTTP/1.1 200 OK\r\nno colon\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: many\r\n".to_owned(),
        format!("{chunked}xyz\r\n"),
        format!("{chunked}2\r\nabc\r\n"),
        format!("{chunked}0\r\n\r\nmore"),
        format!("HTTP/1.1 200 OK\r\nA: {}", "b".repeat(LONGEST_LINE)),
    ] {
        assert!(decode(&response, 1000).is_err(), "{response:.80}");
        assert!(decode(&response, 1).is_err(), "{response:.80}");
    }
}

#[test]
fn url_has_an_address_and_a_path() {
    let target = Target::parse("http://127.0.0.1:3000/mcp").unwrap();
    assert_eq!(target.address, SocketAddr::from(([127, 0, 0, 1], 3000)));
    let request = String::from_utf8(target.post("tools/call", Some("add"), "{}")).unwrap();
    assert!(request.starts_with("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:3000\r\n"));
    assert!(request.contains("\r\nMcp-Method: tools/call\r\nMcp-Name: add\r\n"));
    assert!(request.ends_with("\r\nContent-Length: 2\r\n\r\n{}"));
    assert!(!target.is_tls);
    assert!(Target::parse("https://127.0.0.1:1/").is_some_and(|target| target.is_tls));
    for url in [
        "ftp://127.0.0.1:1/",
        "http://127.0.0.1:1",
        "http://localhost:1/",
    ] {
        assert_eq!(Target::parse(url), None, "{url}");
    }
}
