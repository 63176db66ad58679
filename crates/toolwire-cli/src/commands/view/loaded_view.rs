//! The view in the browser: its session, and the messages that wait for the host page.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use toolwire::apps::host::{ViewDocument, ViewEvent, ViewHost, ViewRequest, ViewSession};
use toolwire::{ErrorObject, RawJson};

use crate::commands::view::item_queue::ItemQueue;
use crate::sync::lock;

/// The maximum number of characters of a text of the view that are shown.
const MAX_SHOWN: usize = 2000;

/// The maximum number of events that wait for this command.
const MAX_REQUESTS: usize = 256;

/// How long a request for the next items may wait.
const NEXT_TIMEOUT: Duration = Duration::from_secs(20);

/// The maximum length of a text of the browser's environment.
const MAX_TEXT: usize = 64;

/// A view and the page that shows it. A page that is loaded again starts a new session with the same call.
#[derive(Debug)]
pub(super) struct LoadedView {
    pub(super) document: ViewDocument,
    host: ViewHost,
    state: Mutex<State>,
    changed: Notify,
    requests: mpsc::Sender<(u64, PageEvent)>,
}

#[derive(Debug)]
struct State {
    /// The number of the last load of the page.
    load: u64,
    session: Option<ViewSession>,
    items: ItemQueue,
    /// The call that the view shows.
    input: Option<RawJson>,
    result: Option<Result<RawJson, String>>,
}

/// What the host page reports about its browser.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Environment {
    theme: String,
    locale: String,
    time_zone: String,
}

/// The requests of views for the host, with the number of the load.
pub(super) type Requests = mpsc::Receiver<(u64, PageEvent)>;

/// What happened on a page.
#[derive(Debug)]
pub(super) enum PageEvent {
    /// An event of the view.
    View(ViewEvent),
    /// A log message of the view, shortened.
    Log(String),
    /// The view tried to load another page into its frame.
    Blocked(String),
}

impl LoadedView {
    pub(super) fn new(host: ViewHost, document: ViewDocument) -> (Self, Requests) {
        let (requests, receiver) = mpsc::channel(MAX_REQUESTS);
        let view = Self {
            document,
            host,
            state: Mutex::new(State {
                load: 0,
                session: None,
                items: ItemQueue::new(),
                input: None,
                result: None,
            }),
            changed: Notify::new(),
            requests,
        };
        (view, receiver)
    }

    /// Starts a new session for a page that was loaded, and returns the number of the load.
    pub(super) fn load(&self, environment: &Environment) -> u64 {
        let mut host = self.host.clone();
        if matches!(environment.theme.as_str(), "light" | "dark") {
            host = host.with_context("theme", environment.theme.as_str());
        }
        for (name, value) in [
            ("locale", &environment.locale),
            ("timeZone", &environment.time_zone),
        ] {
            if !value.is_empty() && value.len() <= MAX_TEXT {
                host = host.with_context(name, value.as_str());
            }
        }
        let mut state = self.state();
        state.load += 1;
        state.items.clear();
        let mut session = ViewSession::new(host);
        if let Some(input) = &state.input {
            session.tool_input(input.clone());
        }
        match &state.result {
            Some(Ok(result)) => drop(session.tool_result(result.clone())),
            Some(Err(reason)) => drop(session.tool_cancelled(Some(reason))),
            None => {}
        }
        state.session = Some(session);
        let load = state.load;
        drop(state);
        // Requests of the page that was replaced end.
        self.changed.notify_waiters();
        load
    }

    /// Processes a message of the view. Returns `false` if its page was replaced.
    pub(super) fn receive(&self, load: u64, message: &str) -> bool {
        self.with_session(load, |session| session.receive(message))
    }

    /// Passes the arguments of the call to the view.
    pub(super) fn tool_input(&self, arguments: RawJson) {
        self.state().input = Some(arguments.clone());
        let load = self.state().load;
        self.with_session(load, |session| session.tool_input(arguments));
    }

    /// Passes the result of the call to the view, or the reason why it has none.
    pub(super) fn tool_result(&self, result: Result<RawJson, String>) {
        self.state().result = Some(result.clone());
        let load = self.state().load;
        self.with_session(load, |session| match result {
            Ok(result) => session.tool_result(result),
            Err(reason) => session.tool_cancelled(Some(&reason)),
        });
    }

    /// Responds to a request of the view, unless its page was replaced.
    pub(super) fn respond(
        &self,
        load: u64,
        request: ViewRequest,
        outcome: Result<RawJson, ErrorObject>,
    ) {
        self.with_session(load, |session| {
            session.respond(request, outcome).into_iter().collect()
        });
    }

    /// Shows a link on the host page.
    pub(super) fn show_url(&self, load: u64, url: &str) {
        let mut state = self.state();
        if state.load == load {
            state.items.push(json!({ "link": url }));
            drop(state);
            self.changed.notify_waiters();
        }
    }

    /// Waits for the next items of the host page. Returns `None` if the page was replaced, or does not fetch its items.
    pub(super) async fn next_items(&self, load: u64) -> Option<Vec<Value>> {
        let deadline = tokio::time::sleep(NEXT_TIMEOUT);
        tokio::pin!(deadline);
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Changes after the next line are not lost.
            changed.as_mut().enable();
            {
                let mut state = self.state();
                if state.load != load || state.session.is_none() {
                    return None;
                }
                let items = state.items.take();
                if !items.is_empty() {
                    return Some(items);
                }
            }
            tokio::select! {
                () = changed => {}
                () = &mut deadline => return Some(Vec::new()),
            }
        }
    }

    /// Reports that the policy of the proxy frame has stopped the view from loading a page.
    pub(super) fn blocked(&self, load: u64, report: &str) {
        if !self.is_flooded() {
            let event = PageEvent::Blocked(shortened(report));
            drop(self.requests.try_send((load, event)));
        }
    }

    /// Returns `true` if the view sends more than the command can show. Messages without a response are then lost.
    fn is_flooded(&self) -> bool {
        self.requests.capacity() < MAX_REQUESTS / 2
    }

    /// Uses the session of a load, and distributes its events. Returns `false` if the page was replaced.
    fn with_session(
        &self,
        load: u64,
        run: impl FnOnce(&mut ViewSession) -> Vec<ViewEvent>,
    ) -> bool {
        let mut state = self.state();
        if state.load != load {
            return false;
        }
        let Some(session) = &mut state.session else {
            return false;
        };
        for event in run(session) {
            match event {
                ViewEvent::Send(message) => state.items.push_message(&message),
                ViewEvent::Resize {
                    height: Some(height),
                    ..
                } => {
                    state.items.push(json!({ "height": height }));
                }
                ViewEvent::Log(_) | ViewEvent::Ignored(_) if self.is_flooded() => {}
                ViewEvent::Log(params) => {
                    let event = PageEvent::Log(shortened(params.get()));
                    drop(self.requests.try_send((load, event)));
                }
                // `ViewSession` limits the number of requests to less than half of the capacity.
                event => drop(self.requests.try_send((load, PageEvent::View(event)))),
            }
        }
        if state.items.is_over_limit() {
            state.session = None;
            state.items.clear();
        }
        drop(state);
        self.changed.notify_waiters();
        true
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// Returns the start of a text of the view, which may be large.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(MAX_SHOWN).collect()
}
