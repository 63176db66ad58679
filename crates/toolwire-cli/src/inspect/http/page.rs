//! The files of the page. They are built from `page/` and compressed ahead.

use std::sync::LazyLock;

use bytes::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_ENCODING, ETAG, HeaderValue, IF_NONE_MATCH};
use hyper::{Method, Request, StatusCode};
use sha2::{Digest as _, Sha256};

use crate::inspect::http::response::{PageResponse, full, not_found};

struct PageFile {
    path: &'static str,
    content_type: &'static str,
    /// The content, compressed with gzip.
    content: &'static [u8],
}

const FILES: [PageFile; 3] = [
    PageFile {
        path: "/",
        content_type: "text/html; charset=utf-8",
        content: include_bytes!("../../../dist/index.html.gz"),
    },
    PageFile {
        path: "/page.js",
        content_type: "text/javascript; charset=utf-8",
        content: include_bytes!("../../../dist/page.js.gz"),
    },
    PageFile {
        path: "/page.css",
        content_type: "text/css; charset=utf-8",
        content: include_bytes!("../../../dist/page.css.gz"),
    },
];

/// The entity tags of the files.
static TAGS: LazyLock<[String; 3]> = LazyLock::new(|| {
    FILES.map(|file| {
        let digest = Sha256::digest(file.content);
        let hex: String = digest[..16]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("\"{hex}\"")
    })
});

/// Returns the requested file. Every browser accepts gzip, so there is no other form.
pub(super) fn respond<B>(request: &Request<B>) -> PageResponse {
    let path = request.uri().path();
    let Some(position) = FILES.iter().position(|file| file.path == path) else {
        return not_found();
    };
    let (file, tag) = (&FILES[position], &TAGS[position]);
    let cached = request.headers().get(IF_NONE_MATCH);
    let is_fresh = cached.is_some_and(|cached| cached.as_bytes() == tag.as_bytes());
    let (status, content) = match is_fresh {
        true => (StatusCode::NOT_MODIFIED, &[][..]),
        false if request.method() == Method::HEAD => (StatusCode::OK, &[][..]),
        false => (StatusCode::OK, file.content),
    };
    let mut response = full(status, file.content_type, Bytes::from_static(content));
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(ETAG, tag);
    }
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    // The browser asks each time if its copy is current.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

#[cfg(test)]
mod tests {
    use hyper::header::CONTENT_SECURITY_POLICY;

    use super::*;

    fn get(path: &str, tag: Option<&str>) -> PageResponse {
        let mut request = Request::builder().uri(path);
        if let Some(tag) = tag {
            request = request.header(IF_NONE_MATCH, tag);
        }
        respond(&request.body(()).expect("a valid request"))
    }

    #[test]
    fn files_have_a_policy_and_an_entity_tag() {
        for file in FILES {
            let response = get(file.path, None);
            assert_eq!(response.status(), StatusCode::OK, "{}", file.path);
            let headers = response.headers();
            let policy = headers[CONTENT_SECURITY_POLICY].to_str().expect("text");
            assert!(policy.starts_with("default-src 'none'"), "{policy}");
            assert!(!policy.contains("unsafe"), "{policy}");
            let tag = headers[ETAG].to_str().expect("text");
            let cached = get(file.path, Some(tag));
            assert_eq!(cached.status(), StatusCode::NOT_MODIFIED);
        }
        assert_eq!(get("/other", None).status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn page_is_small() {
        let total: usize = FILES.iter().map(|file| file.content.len()).sum();
        assert!(total <= 80_000, "{total} bytes");
    }
}
