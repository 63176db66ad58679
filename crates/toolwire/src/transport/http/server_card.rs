//! The server card and the catalog that a server publishes (SEP-2127, a draft).
//!
//! Both are public: every client and every web page may read them without authorization.

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_EXPOSE_HEADERS,
    CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde::Serialize;
use toolwire_proto::http::etag_matches;
use toolwire_proto::server_card;
use toolwire_types::server_card::{CARD_MEDIA_TYPE, CATALOG_MEDIA_TYPE, CATALOG_PATH};

use crate::transport::http::endpoint::HttpEndpoint;
use crate::transport::http::published_card::PublishedCard;
use crate::transport::http::request::cors;
use crate::transport::http::request::headers::RequestHeaders;
use crate::transport::http::response::body::ServerBody;
use crate::transport::http::response::{self, HttpResponse};

impl HttpEndpoint {
    /// Returns the response with the card or the catalog, if the path of the request is that of one of them.
    #[cold]
    pub(crate) fn card_document(
        &self,
        published: &PublishedCard,
        parts: &Parts,
        head: &RequestHeaders<'_>,
    ) -> Option<HttpResponse> {
        let is_card = match parts.uri.path() {
            path if path == published.path => true,
            CATALOG_PATH => false,
            _ => return None,
        };
        let mut response = match parts.method {
            Method::GET | Method::HEAD => {
                let url = self.public_url(parts, head)?;
                if is_card {
                    self.card(published, &url, parts)?
                } else {
                    let catalog = server_card::catalog(&published.name, &url);
                    document(&catalog, CATALOG_MEDIA_TYPE, parts)?
                }
            }
            _ => {
                cors::preflight(parts, "GET").unwrap_or_else(|| response::method_not_allowed("GET"))
            }
        };
        let fields = response.fields_mut();
        // Until the public URL is configured, a document contains the scheme that a proxy reports.
        if self.options.public_url.is_none() {
            fields.insert(VARY, HeaderValue::from_static("X-Forwarded-Proto"));
        }
        cors::expose_to_all(&mut response);
        Some(response)
    }

    fn card(&self, published: &PublishedCard, url: &str, parts: &Parts) -> Option<HttpResponse> {
        let snapshot = self.server.snapshot();
        let versions = self.options.legacy.served_versions(&snapshot.supported);
        let card = server_card::card(&published.name, &snapshot.info, url, versions.names());
        document(&card, CARD_MEDIA_TYPE, parts)
    }
}

/// Returns a document, or 304 if the client has it already.
fn document(
    content: &impl Serialize,
    media_type: &'static str,
    parts: &Parts,
) -> Option<HttpResponse> {
    let content = Bytes::from(serde_json::to_vec(content).ok()?);
    let mut fields = HeaderMap::new();
    for (name, value) in [
        (CONTENT_TYPE, media_type),
        (CACHE_CONTROL, "public, max-age=3600"),
        (ACCESS_CONTROL_ALLOW_METHODS, "GET"),
        (ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type, If-None-Match"),
        (ACCESS_CONTROL_EXPOSE_HEADERS, "ETag"),
    ] {
        fields.insert(name, HeaderValue::from_static(value));
    }
    let etag = etag(&content);
    fields.insert(ETAG, HeaderValue::from_str(&etag).ok()?);
    let known = parts.headers.get_all(IF_NONE_MATCH).iter();
    let known = known.filter_map(|value| value.to_str().ok());
    if etag_matches(known, &etag) {
        fields.remove(CONTENT_TYPE);
        let body = ServerBody::full(Bytes::new());
        return Some(HttpResponse::with_fields(
            StatusCode::NOT_MODIFIED,
            fields,
            body,
        ));
    }
    let body = ServerBody::full(content);
    Some(HttpResponse::with_fields(StatusCode::OK, fields, body))
}

/// Returns the entity tag of a document. All nodes that run the same program have the same tags.
fn etag(content: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}
