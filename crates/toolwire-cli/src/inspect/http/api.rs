//! The HTTP interface of the page: JSON in, JSON out. The guide `inspect` describes it.

use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::{Method, Request, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use toolwire::RawJson;
use toolwire_proto::uri_template::{UriTemplate, Values};

use crate::inspect::comparison::Comparison;
use crate::inspect::http::access::Access;
use crate::inspect::http::event_stream;
use crate::inspect::http::response::{
    PageResponse, error, full, json_response, no_content, not_found,
};
use crate::inspect::inputs::ResponseError;
use crate::inspect::inspector::{InspectError, Inspector};
use crate::inspect::log_search::LogMatches;
use crate::inspect::schema_check::SchemaCheck;
use crate::inspect::settings::SettingsChange;
use crate::snippets::Exchange;

/// The maximum size of a request in bytes.
const MAX_BODY: usize = 16 * 1024 * 1024;

/// The maximum size in bytes of the request that opens a session. It is read before the sender is known.
const MAX_SESSION_BODY: usize = 4 * 1024;

/// How long a client may take to send the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The number of log entries in a response, unless the request asks for fewer.
const LOG_PART: usize = 1000;

type Outcome = Result<PageResponse, PageResponse>;

/// Exchanges the secret of the address for the token.
pub(super) async fn open_session(request: Request<Incoming>, access: &Access) -> PageResponse {
    #[derive(Deserialize)]
    struct Session {
        secret: String,
    }
    let outcome = async {
        let session: Session = read_within(request, MAX_SESSION_BODY).await?;
        match access.exchange(&session.secret) {
            Ok(token) => Ok(json_response(StatusCode::OK, &json!({ "token": token }))),
            Err(rejection) => Err(rejection.response()),
        }
    };
    either(outcome.await)
}

/// Processes a request of the page.
pub(super) async fn respond(
    request: Request<Incoming>,
    path: &str,
    inspector: &Arc<Inspector>,
) -> PageResponse {
    let parts: Vec<&str> = path.split('/').collect();
    let method = request.method().clone();
    let outcome = match (&method, parts.as_slice()) {
        (&Method::GET, ["state"]) => Ok(ok(&inspector.state())),
        (&Method::GET, ["events"]) => {
            let after = number_in_query(&request, "after").unwrap_or(0);
            Ok(event_stream::open(inspector, after))
        }
        (&Method::GET, ["lists", kind]) => list(kind, inspector).await,
        (&Method::GET, ["calls"]) => Ok(ok(&inspector.calls.list())),
        (&Method::POST, ["calls"]) => start_call(request, inspector).await,
        (&Method::GET, ["calls", id]) => match inspector.calls.get(number(id)) {
            Some(outcome) => Ok(ok(&outcome)),
            None => Err(not_found()),
        },
        (&Method::GET, ["calls", id, "inside"]) => match inspector.calls.reports(number(id)) {
            Some(reports) => Ok(ok(&reports)),
            None => Err(not_found()),
        },
        (&Method::GET, ["saved"]) => saved(inspector).await,
        (&Method::POST, ["saved"]) => save(request, inspector).await,
        (&Method::DELETE, ["saved", name]) => match inspector.delete_saved(name).await {
            Ok(true) => Ok(no_content()),
            Ok(false) => Err(not_found()),
            Err(problem) => Err(rejected(problem)),
        },
        (&Method::DELETE, ["calls", id]) => {
            if inspector.calls.cancel(number(id)) {
                Ok(no_content())
            } else {
                Err(not_found())
            }
        }
        (&Method::GET, ["inputs"]) => Ok(ok(&inspector.inputs.list())),
        (&Method::POST, ["inputs", id]) => respond_to_input(request, number(id), inspector).await,
        (&Method::POST, ["subscriptions"]) => subscribe(request, inspector).await,
        (&Method::POST, ["expand"]) => expand(request).await,
        (&Method::POST, ["snippets"]) => snippets(request, inspector).await,
        (&Method::POST, ["check"]) => check(request, inspector).await,
        (&Method::GET, ["log"]) => {
            let after = number_in_query(&request, "after").unwrap_or(0);
            let limit = number_in_query(&request, "limit").and_then(|limit| limit.try_into().ok());
            let limit = limit.unwrap_or(LOG_PART).min(LOG_PART);
            Ok(ok(&inspector.log.after(after, limit)))
        }
        (&Method::POST, ["log", "search"]) => search_log(request, inspector).await,
        (&Method::DELETE, ["log"]) => {
            inspector.log.clear();
            Ok(no_content())
        }
        (&Method::GET, ["log", number_text]) => match inspector.log.entry(number(number_text)) {
            Some(entry) => Ok(ok(&entry)),
            None => Err(not_found()),
        },
        (&Method::POST, ["record"]) => record(request, inspector).await,
        (&Method::GET, ["record"]) => download_record(inspector).await,
        (&Method::POST, ["compare"]) => compare(request, inspector).await,
        (&Method::GET, ["account"]) => account(inspector).await,
        (&Method::POST, ["account"]) => change_account(request, inspector).await,
        (&Method::DELETE, ["streams"]) => {
            inspector.drop_streams();
            Ok(no_content())
        }
        (&Method::PATCH, ["settings"]) => change_settings(request, inspector).await,
        (&Method::POST, ["reconnect"]) => {
            inspector.reconnect();
            Ok(no_content())
        }
        _ => Err(not_found()),
    };
    either(outcome)
}

async fn list(kind: &str, inspector: &Inspector) -> Outcome {
    let kind = kind.parse().map_err(|()| not_found())?;
    let items = inspector.list(kind).await.map_err(rejected)?;
    Ok(ok(&items))
}

/// Sends a request to the server. With `wait`, the response is the outcome, otherwise the id of the call.
async fn start_call(request: Request<Incoming>, inspector: &Arc<Inspector>) -> Outcome {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct NewCall {
        method: Option<String>,
        #[serde(default = "empty_object")]
        params: RawJson,
        saved: Option<String>,
        #[serde(default)]
        responses: bool,
        #[serde(default)]
        wait: bool,
    }
    let call: NewCall = read(request).await?;
    if !call.params.get().starts_with('{') {
        return Err(invalid("`params` is not an object; write {}"));
    }
    let id = match (call.method, call.saved) {
        (Some(method), None) => inspector.start_call(method, call.params, Vec::new()),
        (None, Some(name)) => inspector.start_saved(&name, call.responses).await,
        (None, None) => return Err(invalid("missing field `method`")),
        (Some(_), Some(_)) => return Err(invalid("give either `method` or `saved`")),
    };
    let id = id.map_err(rejected)?;
    if !call.wait {
        return Ok(json_response(StatusCode::ACCEPTED, &json!({ "id": id })));
    }
    match inspector.calls.wait(id).await {
        Some(outcome) => Ok(ok(&outcome)),
        None => Err(not_found()),
    }
}

async fn saved(inspector: &Inspector) -> Outcome {
    let saved = inspector.saved_calls().await.map_err(rejected)?;
    Ok(ok(&saved))
}

/// Saves a call under a name.
async fn save(request: Request<Incoming>, inspector: &Inspector) -> Outcome {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct NewSaved {
        name: String,
        call: u64,
    }
    let new: NewSaved = read(request).await?;
    let done = inspector.save_call(new.name, new.call).await;
    done.map_err(rejected)?;
    Ok(no_content())
}

fn empty_object() -> RawJson {
    json!({}).into()
}

async fn respond_to_input(request: Request<Incoming>, id: u64, inspector: &Inspector) -> Outcome {
    let body = body(request, MAX_BODY).await?;
    match inspector.inputs.respond(id, &body) {
        Ok(()) => Ok(no_content()),
        Err(ResponseError::Unknown) => Err(not_found()),
        Err(ResponseError::Invalid(message)) => Err(invalid(&message)),
    }
}

async fn subscribe(request: Request<Incoming>, inspector: &Inspector) -> Outcome {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Change {
        uri: String,
        subscribed: bool,
    }
    let change: Change = read(request).await?;
    let changed = inspector.subscribe(&change.uri, change.subscribed).await;
    changed.map_err(rejected)?;
    Ok(ok(&inspector.state()))
}

/// Expands a URI template.
async fn expand(request: Request<Incoming>) -> Outcome {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Expansion {
        template: String,
        variables: BTreeMap<String, String>,
    }
    let given: Expansion = read(request).await?;
    let template = UriTemplate::parse(&given.template)
        .map_err(|error| invalid(&format!("the URI template is invalid: {error}")))?;
    let mut values = Values::new();
    for (name, value) in given.variables {
        values.insert(name, value);
    }
    let uri = template
        .expand(&values)
        .map_err(|error| invalid(&format!("the URI template cannot be expanded: {error}")))?;
    Ok(ok(&json!({ "uri": uri })))
}

/// Returns a request as a command and as programs.
async fn snippets(request: Request<Incoming>, inspector: &Inspector) -> Outcome {
    let exchange: Exchange = read(request).await?;
    if !exchange.arguments.is_object() {
        return Err(invalid("`arguments` is not an object; write {}"));
    }
    Ok(ok(&inspector.snippets(&exchange).map_err(rejected)?))
}

/// Checks a value against a JSON Schema.
async fn check(request: Request<Incoming>, inspector: &Inspector) -> Outcome {
    let check: SchemaCheck = read(request).await?;
    let outcome = check.run(&inspector.checker, &inspector.calls).await;
    Ok(ok(&outcome.map_err(rejected)?))
}

/// Finds the entries of the log whose text contains a word, in one part of the log.
async fn search_log(request: Request<Incoming>, inspector: &Inspector) -> Outcome {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Search {
        text: String,
        #[serde(default)]
        after: u64,
    }
    let search: Search = read(request).await?;
    let log = Arc::clone(&inspector.log);
    // A part has some megabytes of text.
    let found =
        tokio::task::spawn_blocking(move || LogMatches::find(&log, &search.text, search.after));
    let found = found.await.map_err(|error| invalid(&error.to_string()))?;
    Ok(ok(&found))
}

/// Starts or stops the record of the page.
async fn record(request: Request<Incoming>, inspector: &Inspector) -> Outcome {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Change {
        running: bool,
    }
    let change: Change = read(request).await?;
    inspector.record(change.running).await.map_err(rejected)?;
    Ok(ok(&inspector.state()))
}

/// Compares the server with a record. Without `record`, with that of the page.
async fn compare(request: Request<Incoming>, inspector: &Inspector) -> Outcome {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct Wanted {
        record: Option<String>,
        #[serde(default)]
        may_change: bool,
    }
    let wanted: Wanted = read(request).await?;
    let compared = inspector.compare(wanted.record, wanted.may_change).await;
    Ok(match compared.map_err(rejected)? {
        Comparison::Compared(report) => ok(&report.json()),
        Comparison::NeedsPermission(tools) => ok(&json!({ "mayChange": tools })),
    })
}

async fn account(inspector: &Inspector) -> Outcome {
    let account = inspector.account().await.map_err(rejected)?;
    Ok(ok(&account))
}

/// Logs in or out. The response to a login waits until the user has finished it in the browser.
async fn change_account(request: Request<Incoming>, inspector: &Inspector) -> Outcome {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct Change {
        logged_in: bool,
    }
    let change: Change = read(request).await?;
    let changed = inspector.change_account(change.logged_in).await;
    changed.map_err(rejected)?;
    account(inspector).await
}

/// Returns the record of the page.
async fn download_record(inspector: &Inspector) -> Outcome {
    let text = inspector.record_text().await.map_err(rejected)?;
    Ok(full(StatusCode::OK, "application/jsonl", text.into()))
}

async fn change_settings(request: Request<Incoming>, inspector: &Inspector) -> Outcome {
    let change: SettingsChange = read(request).await?;
    inspector.change_settings(change).await.map_err(rejected)?;
    Ok(ok(&inspector.state()))
}

/// Reads the JSON of a request.
async fn read<T: DeserializeOwned>(request: Request<Incoming>) -> Result<T, PageResponse> {
    read_within(request, MAX_BODY).await
}

/// Reads the JSON of a request with at most this many bytes.
async fn read_within<T: DeserializeOwned>(
    request: Request<Incoming>,
    max_bytes: usize,
) -> Result<T, PageResponse> {
    let body = body(request, max_bytes).await?;
    serde_json::from_slice(&body).map_err(|error| invalid(&format!("the body is invalid: {error}")))
}

/// Reads the body of a request.
async fn body(request: Request<Incoming>, max_bytes: usize) -> Result<Bytes, PageResponse> {
    body_within(request, max_bytes, BODY_TIMEOUT).await
}

/// Reads the body of a request within the limits. Forms of other pages cannot have the type JSON.
async fn body_within<B: Body>(
    request: Request<B>,
    max_bytes: usize,
    timeout: Duration,
) -> Result<Bytes, PageResponse>
where
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    let content_type = request.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let content_type = content_type.and_then(|value| value.split(';').next());
    if content_type.is_none_or(|value| !value.trim().eq_ignore_ascii_case("application/json")) {
        let message = "the body is not JSON";
        let advice = "send `Content-Type: application/json`";
        return Err(error(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            message,
            Some(advice),
        ));
    }
    let reading = Limited::new(request.into_body(), max_bytes).collect();
    match tokio::time::timeout(timeout, reading).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(_)) => {
            let message = format!("the body has more than {max_bytes} bytes, or ended early");
            Err(error(StatusCode::PAYLOAD_TOO_LARGE, &message, None))
        }
        Err(_) => {
            let message = format!("the body did not arrive within {timeout:?}");
            Err(error(StatusCode::REQUEST_TIMEOUT, &message, None))
        }
    }
}

fn ok(value: &impl serde::Serialize) -> PageResponse {
    json_response(StatusCode::OK, value)
}

fn invalid(message: &str) -> PageResponse {
    error(StatusCode::BAD_REQUEST, message, None)
}

fn rejected(problem: InspectError) -> PageResponse {
    match problem {
        InspectError::Invalid(message) => invalid(&message),
        InspectError::Limit(message) => error(StatusCode::TOO_MANY_REQUESTS, &message, None),
        InspectError::NotConnected => {
            let advice = "connect again in the settings";
            let message = "there is no connection to the server";
            error(StatusCode::SERVICE_UNAVAILABLE, message, Some(advice))
        }
        InspectError::Failed(failure) => error(
            StatusCode::BAD_GATEWAY,
            &failure.message_with_advice(),
            None,
        ),
    }
}

fn either(outcome: Outcome) -> PageResponse {
    match outcome {
        Ok(response) | Err(response) => response,
    }
}

/// Returns the number in a path. No entry has the number 0.
fn number(text: &str) -> u64 {
    text.parse().unwrap_or(0)
}

fn number_in_query<B>(request: &Request<B>, name: &str) -> Option<u64> {
    let query = request.uri().query()?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find_map(|(key, value)| (key == name).then(|| value.parse().ok())?)
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use crate::inspect::http::event_body::EventBody;

    use super::*;

    #[tokio::test]
    async fn body_that_does_not_arrive_in_time_is_rejected() {
        let request = |receive| {
            let request = Request::builder().header(CONTENT_TYPE, "application/json");
            request.body(EventBody(receive)).expect("a request")
        };
        let (send, receive) = mpsc::channel(1);
        let moment = Duration::from_millis(20);
        let rejected = body_within(request(receive), MAX_BODY, moment).await;
        let rejected = rejected.expect_err("the body never ends");
        assert_eq!(rejected.status(), StatusCode::REQUEST_TIMEOUT);
        drop(send);
        let (send, receive) = mpsc::channel(1);
        send.send(Bytes::from_static(b"{}")).await.expect("a chunk");
        drop(send);
        let read = body_within(request(receive), MAX_BODY, BODY_TIMEOUT).await;
        assert_eq!(read.expect("a body"), "{}");
    }
}
