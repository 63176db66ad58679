//! The stream format case by case, then in any chunks.

use proptest::prelude::*;

use super::*;

type Outcome = Result<SseEvent, TooLong>;

fn decode<'a>(
    decoder: &mut SseDecoder,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Outcome> {
    let mut events = Vec::new();
    for mut chunk in chunks {
        while let Some(event) = decoder.next_event(&mut chunk) {
            events.push(event);
        }
    }
    events
}

#[track_caller]
fn check_limited(max_event_bytes: usize, input: &[u8], expected: &[Outcome]) {
    let mut decoder = SseDecoder::new(max_event_bytes);
    assert_eq!(decode(&mut decoder, [input]), expected, "at once");
    let mut decoder = SseDecoder::new(max_event_bytes);
    assert_eq!(
        decode(&mut decoder, input.chunks(1)),
        expected,
        "byte by byte"
    );
}

#[track_caller]
fn check(input: &str, expected: &[SseEvent]) {
    let expected: Vec<_> = expected.iter().cloned().map(Ok).collect();
    check_limited(1 << 20, input.as_bytes(), &expected);
}

fn data(data: &str) -> SseEvent {
    SseEvent::new(data)
}

#[test]
fn lines_end_with_lf_cr_or_both() {
    check("data: a\n\ndata: b\n\n", &[data("a"), data("b")]);
    check("data: a\r\rdata: b\r\r", &[data("a"), data("b")]);
    check("data: a\r\n\r\ndata: b\r\n\r\n", &[data("a"), data("b")]);
    check(
        "data: a\ndata: b\rdata: c\r\n\rdata: d\n\r",
        &[data("a\nb\nc"), data("d")],
    );
    check("data: a\n\r\ndata: b\r\n\n", &[data("a"), data("b")]);
}

#[test]
fn data_lines_are_joined() {
    check("data: a\ndata:\ndata:  b \n\n", &[data("a\n\n b ")]);
    check("data\n\n", &[data("")]);
    check("data\ndata\n\n", &[data("\n")]);
    check("data:a:b\n\n", &[data("a:b")]);
}

#[test]
fn events_without_data_are_not_returned() {
    check("event: x\n\n\n\ndata: a\n\n", &[data("a")]);
    check("data: a\n", &[]);
    check("data: a", &[]);
}

#[test]
fn other_fields_and_comments_are_ignored() {
    check(
        ": hi\ndata: a\n:x\nfoo: bar\nDATA: x\n data: x\n\n:\n\n",
        &[data("a")],
    );
}

#[test]
fn byte_order_mark_is_ignored_only_at_the_start() {
    check("\u{FEFF}data: a\n\n\u{FEFF}data: b\n\n", &[data("a")]);
    check("\u{FEFF}\u{FEFF}data: a\n\n", &[]);
    check("\u{FEFF}:\u{FEFF}\n\u{FEFF}\ndata: a\n\n", &[data("a")]);
    check_limited(
        99,
        b"\xEF\xBBdata: a\n\xEF\n\ndata: b\n\n",
        &[Ok(data("b"))],
    );
}

#[test]
fn events_have_their_id_type_and_retry() {
    check(
        "id: 1\nevent: tick\nretry: 250\ndata: a\n\ndata: b\n\n",
        &[
            data("a")
                .with_id("1")
                .with_event("tick")
                .with_retry(Duration::from_millis(250)),
            data("b"),
        ],
    );
    check("event: a\nevent\ndata:\n\n", &[data("")]);
    check("id: 1\nid: 2\ndata:\n\n", &[data("").with_id("2")]);
    check("id: 1\nid: 2\0\ndata:\n\n", &[data("").with_id("1")]);
    check("id\ndata:\n\n", &[data("").with_id("")]);
}

#[test]
fn retry_takes_digits_only() {
    let check_retry = |value: &str, expected: Option<u64>| {
        let mut decoder = SseDecoder::new(100);
        decode(&mut decoder, [format!("retry: {value}\n").as_bytes()]);
        assert_eq!(
            decoder.reconnect_after(),
            expected.map(Duration::from_millis),
            "{value}"
        );
    };
    check_retry("0", Some(0));
    check_retry("999999999", Some(999_999_999));
    check_retry("99999999999999999999999", Some(u64::MAX));
    check_retry("x", None);
    check_retry("+1", None);
    check_retry("1.5", None);
    check_retry("", None);
}

#[test]
fn last_id_remains_after_its_event() {
    let mut decoder = SseDecoder::new(100);
    let mut after = |stream: &str| {
        decode(&mut decoder, [stream.as_bytes()]);
        decoder.last_event_id().map(str::to_owned)
    };
    assert_eq!(after("id: 1\ndata:\n"), None);
    assert_eq!(after("\n").as_deref(), Some("1"));
    assert_eq!(after("data: x\n\n").as_deref(), Some("1"));
    assert_eq!(after("id: 2\n\n").as_deref(), Some("2"));
    assert_eq!(after("id\n\n"), None);
}

#[test]
fn bytes_that_are_not_utf8_are_replaced() {
    check_limited(99, b"data: a\xFFb\n\n", &[Ok(data("a\u{FFFD}b"))]);
}

#[test]
fn event_of_exactly_the_limit_is_accepted() {
    let long = |data: &str| Ok(SseEvent::new(data));
    check_limited(8, b"data: 1234567\n\n", &[long("1234567")]);
    check_limited(8, b"data: 12345678\n\n", &[long("12345678")]);
    check_limited(
        8,
        b"data: 123456789\n\ndata: a\n\n",
        &[Err(TooLong), long("a")],
    );
    check_limited(8, b"data:1234\ndata:567\n\n", &[long("1234\n567")]);
    check_limited(8, b"data:1234\ndata:5678\n\n", &[Err(TooLong)]);
    check_limited(8, b"event:12345678\nid:1\ndata:\n\n", &[Err(TooLong)]);
}

#[test]
fn endless_line_is_reported_once_and_not_buffered() {
    let mut decoder = SseDecoder::new(1000);
    let filler = [b'x'; 4096];
    let mut chunks: Vec<&[u8]> = vec![b"data: "];
    chunks.extend([&filler[..]; 100]);
    chunks.extend([
        &b"\ndata: more\nid: 3\n\n"[..],
        b":",
        &filler,
        &filler,
        b"\ndata: a\n\n",
    ]);
    assert_eq!(decode(&mut decoder, chunks), [Err(TooLong), Ok(data("a"))]);
    assert!(decoder.pending.capacity() <= 2048);
    assert_eq!(decoder.last_event_id(), None);
}

#[test]
fn fifty_thousand_junk_events_do_not_affect_the_next_event() {
    let stream = format!(
        "{}data: response\n\n",
        "event: junk\nfoo\n\ndata: ?\n\n".repeat(50_000)
    );
    let mut decoder = SseDecoder::new(100);
    let events = decode(&mut decoder, [stream.as_bytes()]);
    assert_eq!(events.len(), 50_001);
    assert_eq!(events[50_000], Ok(data("response")));
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        &b"data: a\n"[..],
        b"data",
        b"id",
        b"event",
        b"retry",
        b":",
        b" ",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\xEF\xBB\xBF",
        b"\xEF",
        b"\xBB",
        b"x",
        b"0",
        b"\0",
        b"12345678",
        b"\xFF",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn chunks_do_not_change_the_events(
        stream in stream(),
        cuts in prop::collection::vec(0_usize..200, 0..10),
        max_event_bytes in 0_usize..24,
    ) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
        cuts.extend([0, stream.len()]);
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|cut| &stream[cut[0]..cut[1]]);
        let mut whole = SseDecoder::new(max_event_bytes);
        let mut parts = SseDecoder::new(max_event_bytes);
        prop_assert_eq!(decode(&mut parts, chunks), decode(&mut whole, [&stream[..]]));
        prop_assert_eq!(parts.last_event_id(), whole.last_event_id());
        prop_assert_eq!(parts.reconnect_after(), whole.reconnect_after());
    }
}
