//! The web API: lists and closes issues. It accepts one credential.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, post};
use http::{HeaderMap, StatusCode};
use serde_json::json;
use tokio::net::TcpListener;

/// The credential of the server. A real one comes from the environment or from a secret store.
pub(crate) const CREDENTIAL: &str = "Bearer credential-of-the-server";

/// The titles of open issues. A closed issue has none.
type Issues = Arc<Mutex<Vec<Option<&'static str>>>>;

/// Starts the API and returns its address.
pub(crate) async fn start() -> io::Result<String> {
    let issues: Issues = Arc::new(Mutex::new(vec![
        Some("The kettle boils over"),
        Some("The lid is missing"),
    ]));
    let app = Router::new()
        .route("/issues", get(list))
        .route("/issues/{number}/close", post(close))
        .with_state(issues);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(address)
}

async fn list(State(issues): State<Issues>, headers: HeaderMap) -> Result<String, StatusCode> {
    check(&headers)?;
    let issues = issues.lock().unwrap_or_else(PoisonError::into_inner);
    let open = issues.iter().enumerate();
    let open: Vec<_> = open
        .filter_map(|(index, title)| {
            title.map(|title| json!({"number": index + 1, "title": title}))
        })
        .collect();
    Ok(json!({"issues": open}).to_string())
}

async fn close(
    State(issues): State<Issues>,
    headers: HeaderMap,
    Path(number): Path<usize>,
) -> Result<(), StatusCode> {
    check(&headers)?;
    let mut issues = issues.lock().unwrap_or_else(PoisonError::into_inner);
    let issue = number
        .checked_sub(1)
        .and_then(|index| issues.get_mut(index));
    match issue.and_then(Option::take) {
        Some(_) => Ok(()),
        None => Err(StatusCode::NOT_FOUND),
    }
}

fn check(headers: &HeaderMap) -> Result<(), StatusCode> {
    let given = headers.get(http::header::AUTHORIZATION);
    if given.is_some_and(|value| value == CREDENTIAL) {
        Ok(())
    } else {
        Err(StatusCode::UNAUTHORIZED)
    }
}
