//! A call from its parameters to its result: deadlines, rounds of questions, second attempts.

use std::borrow::Cow;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::Notify;
use tokio::time::Instant;
use toolwire_proto::features::VersionFeatures;
use toolwire_proto::requests::RequestTimeouts;
use toolwire_proto::result_kind::{ResultKind, classify};
use toolwire_proto::rounds::{RoundCounter, retry_params};
use toolwire_types::{
    InputRequiredResult, InputResponses, Meta, ProgressToken, RawJson, code, meta_key,
};

use crate::client::Client;
use crate::client::cache::Lookup;
use crate::client::call::CallOptions;
use crate::client::session::ActiveConnection;
use crate::client::transport::{OutgoingRequest, ServerResponse};
use crate::engine::deadline_after;
use crate::error::Error;

#[expect(
    clippy::ptr_arg,
    reason = "a method whose name is known here is cloned without a copy"
)]
impl Client {
    /// Makes a call: asks the cache, answers the server's questions, and yields the complete result.
    pub(crate) async fn run(
        &self,
        method: &Cow<'static, str>,
        params: Option<RawJson>,
        options: &CallOptions,
    ) -> Result<RawJson, Error> {
        let version = self.version();
        let cache = &self.shared.cache;
        let looked_up = match cache.is_asked(version, method, options.cache) {
            // Boxed, as everything that few calls need, so that the others do not carry it around.
            true => Box::pin(cache.look_up(version, method, params.as_ref(), options.cache)).await,
            false => Lookup::Uncached,
        };
        let ticket = match looked_up {
            Lookup::Hit(result) => return Ok(result),
            Lookup::Miss(ticket) => Some(ticket),
            Lookup::Uncached => None,
        };
        let round = self.round(method, params.as_ref(), options).await;
        let result = round.inspect_err(|error| {
            cache.refused(method, params.as_ref(), error);
        })?;
        let asked = self.questions(method, &result)?;
        let Some(asked) = asked.filter(|_| !options.leaves_questions) else {
            if let Some(ticket) = ticket {
                Box::pin(cache.keep(*ticket, &result)).await;
            }
            return Ok(result);
        };
        Box::pin(self.resolve_input(method, params, options, asked)).await
    }

    /// Repeats a request with answers until the server asks no more. What comes of it is never kept.
    async fn resolve_input(
        &self,
        method: &Cow<'static, str>,
        params: Option<RawJson>,
        options: &CallOptions,
        mut asked: Box<InputRequiredResult>,
    ) -> Result<RawJson, Error> {
        let original = params.unwrap_or_else(RawJson::empty_object);
        let mut rounds = RoundCounter::new(self.shared.config.limits.rounds);
        loop {
            let pause = rounds
                .next_round(&asked)
                .map_err(|error| Error::limit(format!("{method}: {error}")))?;
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            let answers = self.answers(&asked).await?;
            let params = retry_params(&original, &asked, &answers)
                .map_err(|error| Error::refused(format!("{method}: {error}")))?;
            let result = self.round(method, Some(&params), options).await?;
            match self.questions(method, &result)? {
                Some(next) => asked = next,
                None => return Ok(result),
            }
        }
    }

    async fn answers(&self, asked: &InputRequiredResult) -> Result<InputResponses, Error> {
        let mut answers = InputResponses::new();
        let questions = asked
            .input_requests
            .iter()
            .flat_map(|requests| requests.iter());
        for (key, question) in questions {
            let answer = self
                .shared
                .handlers
                .respond(question.clone(), self.version())
                .await;
            let answer = answer.map_err(|error| {
                Error::refused(format!(
                    "the server's question {key:?} ({}) has no answer: {}",
                    question.method(),
                    error.message
                ))
            })?;
            answers.insert(key, answer);
        }
        Ok(answers)
    }

    /// What a server asks in place of an answer.
    ///
    /// # Errors
    /// When a result is neither that nor an answer.
    fn questions(
        &self,
        method: &str,
        result: &RawJson,
    ) -> Result<Option<Box<InputRequiredResult>>, Error> {
        let declared = &self.shared.config.handlers.declared;
        let kind = classify(
            self.version(),
            method,
            |extension| declared.extension(extension).is_some(),
            result.as_raw_value(),
        );
        match kind {
            ResultKind::Unknown(kind) => Err(Error::protocol(format!(
                "the server answered {method} with a result of type {kind:?}, which this client does not know"
            ))),
            ResultKind::Malformed(what) => Err(Error::protocol(format!(
                "the server's answer to {method} is malformed: {what}"
            ))),
            ResultKind::InputRequired(asked) => Ok(Some(Box::new(asked))),
            _ => Ok(None),
        }
    }

    /// One request and its answer, tried again where the first attempt could not have had an effect.
    async fn round(
        &self,
        method: &Cow<'static, str>,
        params: Option<&RawJson>,
        options: &CallOptions,
    ) -> Result<RawJson, Error> {
        let session = self.session();
        let error = match self.exchange(&session, method, params, options).await {
            Ok(result) => return Ok(result),
            Err(error) => error,
        };
        let mismatch = error
            .rpc()
            .is_some_and(|rpc| rpc.code == code::HEADER_MISMATCH);
        if mismatch
            && session.version().has_routing_headers()
            && Box::pin(self.relist_tools(method, params)).await
        {
            return Box::pin(self.exchange(&session, method, params, options)).await;
        }
        match Box::pin(self.renewed(&session, &error)).await? {
            Some(session) => Box::pin(self.exchange(&session, method, params, options)).await,
            None => Err(error),
        }
    }

    async fn exchange(
        &self,
        session: &ActiveConnection,
        method: &Cow<'static, str>,
        given: Option<&RawJson>,
        options: &CallOptions,
    ) -> Result<RawJson, Error> {
        let shared = &self.shared;
        let version = session.version();
        let id = shared.next_id.fetch_add(1, Ordering::Relaxed);
        let mut meta = self.call_meta(options);
        // Signs of life come only to those who listen to progress.
        let listener = options.on_progress.as_ref();
        let listener = listener.map(|tell| (tell, Arc::new(Notify::new())));
        let _progress = listener.as_ref().map(|(tell, alive)| {
            // The id is as unique as a token has to be.
            let token = ProgressToken::from(id);
            meta.insert(meta_key::PROGRESS_TOKEN, RawJson::from_value(&id.into()));
            let routes = &session.inbox.progress;
            routes.register(token, Arc::clone(tell), Arc::clone(alive))
        });
        let alive = listener.as_ref().map(|(_, alive)| &**alive);
        if let Some(level) = options.log_level.or_else(|| self.log_level())
            && version.logs_on_request_only()
        {
            let level = RawJson::from_serialize(&level).expect("a level is a string");
            meta.insert(meta_key::LOG_LEVEL, level);
        }
        let params = session
            .meta
            .params(given, &meta)
            .map_err(|error| Error::refused(format!("{method}: {error}")))?;
        let mirrored = match version.has_routing_headers() {
            true => self.mirrored(method, given)?,
            false => Vec::new(),
        };
        let request = OutgoingRequest {
            id: id.into(),
            method: method.clone(),
            params: Some(params),
            version,
            mirrored,
        };
        let limits = &shared.config.limits;
        let patience = RequestTimeouts {
            idle: options.timeout.unwrap_or(limits.timeout),
            maximum: options.longest_timeout.unwrap_or(limits.longest_timeout),
        };
        let exchange = pin!(async {
            // Whoever comes when everything is taken waits for a turn; the deadline covers that, too.
            let _turn = match shared.turns.try_acquire() {
                Ok(turn) => turn,
                Err(_) => Box::pin(shared.turns.acquire())
                    .await
                    .map_err(|_| Error::closed())?,
            };
            session.link.exchange(&request).await
        });
        // Who waits for an answer of this side, perhaps of a person, cannot go on alone.
        let waits_for_us = || session.inbox.is_answering() || shared.config.login_wait.is_active();
        let answer = before_deadline(patience, alive, waits_for_us, exchange).await?;
        answer.map_err(Error::from)
    }

    fn call_meta(&self, options: &CallOptions) -> Meta {
        let mut meta = Meta::new();
        let source = self.shared.config.trace.as_ref();
        if let Some(trace) = &options.trace {
            trace.to_meta(&mut meta);
        } else if let Some(trace) = source.and_then(|source| source()) {
            trace.to_meta(&mut meta);
        }
        for (key, value) in options.meta.iter().flat_map(|meta| meta.iter()) {
            meta.insert(key, value.clone());
        }
        meta
    }
}

/// Waits for an answer as long as there are signs of life, but no longer than the maximum.
fn before_deadline(
    patience: RequestTimeouts,
    alive: Option<&Notify>,
    waits_for_us: impl Fn() -> bool,
    mut exchange: Pin<&mut impl Future<Output = Result<ServerResponse, Error>>>,
) -> impl Future<Output = Result<ServerResponse, Error>> {
    let start = Instant::now();
    let latest = deadline_after(start, patience.maximum);
    let mut deadline = deadline_after(start, patience.idle).min(latest);
    let idle = patience.idle;
    async move {
        loop {
            tokio::select! {
                biased;
                answer = &mut exchange => return answer,
                () = activity(alive) => deadline = deadline_after(Instant::now(), idle).min(latest),
                () = tokio::time::sleep_until(deadline) => {
                    if deadline >= latest || !waits_for_us() {
                        return Err(Error::timeout());
                    }
                    deadline = deadline_after(Instant::now(), idle).min(latest);
                }
            }
        }
    }
}

/// Waits for ever when there will be none.
async fn activity(alive: Option<&Notify>) {
    match alive {
        Some(alive) => Box::pin(alive.notified()).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::fake_transport::FakeServer;

    /// What is longer than a kilobyte is no longer quick to allocate.
    #[tokio::test]
    async fn a_call_fits_into_a_kilobyte() {
        let server = FakeServer::new("server", |_, _| Ok(json!({})));
        let client = server.connect(Client::builder("test", "1.0.0")).await;
        let call = client.call_tool("echo", json!({}));
        let (method, options) = (Cow::Borrowed("tools/call"), CallOptions::default());
        let running = client.run(&method, None, &options);
        let whole = size_of_val(&call) + size_of_val(&running);
        assert!(whole <= 1000, "{whole} bytes");
    }
}
