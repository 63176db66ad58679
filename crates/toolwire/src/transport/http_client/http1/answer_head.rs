//! The head of an answer, read.

use std::mem::MaybeUninit;

use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use crate::transport::http_client::http1::broken::Malformed;
use crate::transport::http_client::http1::framing::Framing;

/// How many fields are read; no honest server sends more.
const MAX_FIELDS: usize = 100;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What a head says.
#[derive(Debug)]
pub(super) struct AnswerHead {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) framing: Framing,
    /// Whether the connection may be used again after the body.
    pub(super) keeps: bool,
    /// How many bytes it has.
    pub(super) length: usize,
}

impl AnswerHead {
    /// Reads the head at the beginning of the bytes; `None` when it is not complete.
    ///
    /// # Errors
    /// As soon as what is there cannot become the head of an answer.
    pub(super) fn read(bytes: &[u8], asked: &Method) -> Result<Option<Self>, Malformed> {
        let mut fields = [const { MaybeUninit::uninit() }; MAX_FIELDS];
        let mut answer = httparse::Response::new(&mut []);
        let read = httparse::ParserConfig::default().parse_response_with_uninit_headers(
            &mut answer,
            bytes,
            &mut fields,
        );
        let length = match read {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(Malformed("too many headers")),
            Err(_) => return Err(Malformed("no HTTP")),
        };
        let (Some(code), Some(minor)) = (answer.code, answer.version) else {
            return Err(Malformed("no status"));
        };
        let status = StatusCode::from_u16(code).map_err(|_| Malformed("no status"))?;
        let mut lengths = Lengths::default();
        // Servers of HTTP/1.0 close the connection, and say so by that number.
        let mut keeps = minor == 1;
        let mut headers = HeaderMap::with_capacity(answer.headers.len());
        for field in &*answer.headers {
            let name = HeaderName::from_bytes(field.name.as_bytes())
                .map_err(|_| Malformed("a header with a name that is none"))?;
            if name == CONTENT_LENGTH {
                lengths.content_length(field.value)?;
            } else if name == TRANSFER_ENCODING {
                lengths.transfer_encoding(field.value, minor)?;
            } else if name == CONNECTION {
                keeps &= !says_close(field.value);
            }
            // What most answers are need not be copied.
            let value = match field.value == JSON.as_bytes() {
                true => JSON,
                false => HeaderValue::from_bytes(field.value)
                    .map_err(|_| Malformed("a header with a value that is none"))?,
            };
            headers.append(name, value);
        }
        let framing = lengths.framing(status, asked)?;
        Ok(Some(Self {
            keeps: keeps && !matches!(framing, Framing::UntilClose) && !is_tunnel(status, asked),
            status,
            headers,
            framing,
            length,
        }))
    }

    /// Whether the answer itself is still to come (RFC 9110, 15.2). A change of protocol is an answer, and an odd one.
    pub(super) fn is_interim(&self) -> bool {
        self.status.is_informational() && self.status != StatusCode::SWITCHING_PROTOCOLS
    }
}

/// What follows such an answer is not HTTP.
fn is_tunnel(status: StatusCode, asked: &Method) -> bool {
    status == StatusCode::SWITCHING_PROTOCOLS || (asked == Method::CONNECT && status.is_success())
}

fn says_close(value: &[u8]) -> bool {
    value
        .split(|byte| *byte == b',')
        .any(|word| word.trim_ascii().eq_ignore_ascii_case(b"close"))
}

/// What a head says of the length of its body.
#[derive(Debug, Default)]
struct Lengths {
    length: Option<u64>,
    chunked: bool,
}

impl Lengths {
    /// RFC 9112, 6.3: lengths that differ make an answer invalid. Those that repeat each other are refused too.
    fn content_length(&mut self, value: &[u8]) -> Result<(), Malformed> {
        let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let length = std::str::from_utf8(value)
            .ok()
            .filter(|_| digits)
            .and_then(|value| value.parse().ok());
        match length {
            None => Err(Malformed("a Content-Length that is no number")),
            Some(_) if self.length.is_some() => Err(Malformed("more than one Content-Length")),
            Some(length) => {
                self.length = Some(length);
                Ok(())
            }
        }
    }

    /// Nothing else than `chunked` was asked for, and once.
    fn transfer_encoding(&mut self, value: &[u8], minor: u8) -> Result<(), Malformed> {
        if minor != 1 {
            return Err(Malformed("a Transfer-Encoding in HTTP/1.0"));
        }
        if self.chunked || !value.eq_ignore_ascii_case(b"chunked") {
            return Err(Malformed("a Transfer-Encoding other than chunked"));
        }
        self.chunked = true;
        Ok(())
    }

    /// RFC 9112, 6.3: which of them counts.
    fn framing(&self, status: StatusCode, asked: &Method) -> Result<Framing, Malformed> {
        if self.chunked && self.length.is_some() {
            return Err(Malformed("both Transfer-Encoding and Content-Length"));
        }
        let has_no_body = status.is_informational()
            || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
            || asked == Method::HEAD
            || is_tunnel(status, asked);
        Ok(match self.length {
            _ if has_no_body => Framing::Length(0),
            Some(length) => Framing::Length(length),
            None if self.chunked => Framing::chunked(),
            None => Framing::UntilClose,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, asked: &Method) -> Result<Option<AnswerHead>, Malformed> {
        AnswerHead::read(text.replace('|', "\r\n").as_bytes(), asked)
    }

    #[test]
    fn a_head_says_how_its_body_ends_and_whether_the_connection_goes_on() {
        let check = |asked: Method, text: &str, expected: &str, keeps: bool| {
            let head = read(text, &asked).unwrap().expect("a whole head");
            assert_eq!(format!("{:?}", head.framing), expected, "{text}");
            assert_eq!(head.keeps, keeps, "{text}");
        };
        let post = || Method::POST;
        let ok = |fields: &str| format!("HTTP/1.1 200 OK|{fields}|");
        check(post(), &ok("Content-Length: 5|"), "Length(5)", true);
        check(post(), &ok("CONTENT-LENGTH:  5 |"), "Length(5)", true);
        let chunked = format!("{:?}", Framing::chunked());
        check(post(), &ok("Transfer-Encoding: Chunked|"), &chunked, true);
        check(post(), &ok(""), "UntilClose", false);
        check(
            post(),
            &ok("Content-Length: 5|Connection: x, Close|"),
            "Length(5)",
            false,
        );
        check(
            post(),
            &ok("Content-Length: 5|Connection: keep-alive|"),
            "Length(5)",
            true,
        );
        check(
            post(),
            "HTTP/1.0 200 OK|Content-Length: 5||",
            "Length(5)",
            false,
        );
        check(Method::HEAD, &ok("Content-Length: 5|"), "Length(0)", true);
        check(Method::CONNECT, &ok(""), "Length(0)", false);
        check(post(), "HTTP/1.1 204 No Content||", "Length(0)", true);
        check(
            post(),
            "HTTP/1.1 304 Not Modified|Content-Length: 5||",
            "Length(0)",
            true,
        );
        check(
            post(),
            "HTTP/1.1 101 Switching Protocols|Upgrade: x||",
            "Length(0)",
            false,
        );
    }

    #[test]
    fn interim_answers_are_told_from_the_answer() {
        let check = |text: &str, interim: bool| {
            let head = read(text, &Method::POST).unwrap().unwrap();
            assert_eq!(head.is_interim(), interim, "{text}");
        };
        check("HTTP/1.1 100 Continue||", true);
        check("HTTP/1.1 103 Early Hints|Link: a||", true);
        check("HTTP/1.1 101 Switching Protocols||", false);
        check("HTTP/1.1 200 OK||", false);
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_refused() {
        let check = |fields: &str, expected: &str| {
            for version in ["HTTP/1.1", "HTTP/1.0"] {
                let text = format!("{version} 200 OK|{fields}||");
                let malformed = read(&text, &Method::POST).expect_err(&text);
                if version == "HTTP/1.1" {
                    assert_eq!(malformed.to_string(), expected, "{text}");
                }
            }
        };
        let number = "a Content-Length that is no number";
        for length in [
            "",
            "-1",
            "+1",
            "0x5",
            "5 5",
            "5,5",
            "5, 6",
            "5;",
            "1.0",
            "18446744073709551616",
        ] {
            check(&format!("Content-Length: {length}"), number);
        }
        check(
            "Content-Length: 5|Content-Length: 5",
            "more than one Content-Length",
        );
        check(
            "Content-Length: 5|Content-Length: 6",
            "more than one Content-Length",
        );
        let coding = "a Transfer-Encoding other than chunked";
        for value in [
            "",
            "gzip",
            "gzip, chunked",
            "chunked, chunked",
            "xchunked",
            "identity",
        ] {
            check(&format!("Transfer-Encoding: {value}"), coding);
        }
        check(
            "Transfer-Encoding: chunked|Transfer-Encoding: chunked",
            coding,
        );
        check(
            "Transfer-Encoding: chunked|Content-Length: 5",
            "both Transfer-Encoding and Content-Length",
        );
        check(
            "Content-Length: 5|Transfer-Encoding: chunked",
            "both Transfer-Encoding and Content-Length",
        );
        // Folded lines, spaces before the colon, names that are none.
        check("X: a|\tb", "no HTTP");
        check("Content-Length : 5", "no HTTP");
        check("X\0: 5", "no HTTP");
        check("X: a\0b", "no HTTP");
    }

    #[test]
    fn what_is_no_head_is_refused_at_once() {
        for text in [
            "SSH-2.0-OpenSSH|",
            "HTTP/2.0 200 OK||",
            "HTTP/1.1 two hundred||",
            "HTTP/1.1 99 Low||",
            "HTTP/1.1 000 Nothing||",
            "GET / HTTP/1.1||",
            "\u{15}\u{3}\u{1}",
        ] {
            assert!(read(text, &Method::POST).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_head_has_a_hundred_fields_at_most() {
        let with = |fields: usize| {
            let text = format!("HTTP/1.1 200 OK|{}|", "X: y|".repeat(fields));
            read(&text, &Method::POST).map(|head| head.unwrap().headers.len())
        };
        assert_eq!(with(MAX_FIELDS), Ok(MAX_FIELDS));
        assert_eq!(with(MAX_FIELDS + 1), Err(Malformed("too many headers")));
    }

    #[test]
    fn part_of_a_head_is_no_head_yet() {
        let whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        for end in 0..whole.len() {
            let part = AnswerHead::read(&whole.as_bytes()[..end], &Method::POST);
            assert!(part.unwrap().is_none(), "{end}");
        }
        let head = AnswerHead::read(format!("{whole}hello").as_bytes(), &Method::POST);
        assert_eq!(head.unwrap().unwrap().length, whole.len());
    }
}
