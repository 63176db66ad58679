//! Completion of prompt arguments and template variables.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use indexmap::IndexMap;
use toolwire_types::{
    CompleteRequestParams, CompleteResult, Completion as WireCompletion, CompletionReference,
    ErrorObject,
};

use crate::engine::{BoxFuture, Outcome};
use crate::server::RequestContext;
use crate::server::request::Exchange;

/// The maximum number of values in one response (spec, server/utilities/completion).
const MAX_VALUES: usize = 100;

/// The text that the user typed so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompletionRequest {
    /// The argument or variable that is being typed.
    pub argument: String,
    /// The text typed so far.
    pub value: String,
    /// The values of other arguments (2025-06-18 and later).
    pub arguments: IndexMap<String, String>,
}

/// Suggested values, best first.
///
/// Only the first 100 values are sent. If there are more, the response has `hasMore`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompletionValues {
    values: Vec<String>,
    total: Option<u64>,
    has_more: bool,
}

impl CompletionValues {
    /// Creates a list of suggestions.
    #[must_use]
    pub fn new(values: Vec<String>) -> Self {
        Self {
            values,
            total: None,
            has_more: false,
        }
    }

    /// Returns the candidates that start with the typed text, ignoring case.
    pub fn prefix_match<T: AsRef<str>>(
        value: &str,
        candidates: impl IntoIterator<Item = T>,
    ) -> Self {
        let typed = value.to_lowercase();
        let matching = candidates
            .into_iter()
            .filter(|candidate| candidate.as_ref().to_lowercase().starts_with(&typed))
            .map(|candidate| candidate.as_ref().to_owned());
        Self::new(matching.collect())
    }

    /// Sets the total number of suggestions, if it exceeds the number given.
    #[must_use]
    pub fn with_total(mut self, total: u64) -> Self {
        self.total = Some(total);
        self
    }

    /// Sets `hasMore`: more suggestions exist than given.
    #[must_use]
    pub fn with_has_more(mut self) -> Self {
        self.has_more = true;
        self
    }

    pub(crate) fn into_result(mut self) -> CompleteResult {
        let given = self.values.len();
        if given > MAX_VALUES {
            self.values.truncate(MAX_VALUES);
            self.has_more = true;
            self.total.get_or_insert(given as u64);
        }
        let mut completion = WireCompletion::new(self.values);
        completion.total = self.total;
        completion.has_more = Some(self.has_more);
        CompleteResult::new(completion)
    }
}

impl<T: Into<String>> From<Vec<T>> for CompletionValues {
    fn from(values: Vec<T>) -> Self {
        Self::new(values.into_iter().map(Into::into).collect())
    }
}

type Completer =
    dyn Fn(RequestContext, CompletionRequest) -> BoxFuture<'static, CompletionValues> + Send + Sync;

/// The completers of one prompt or template, by argument.
#[derive(Clone, Default)]
pub(crate) struct Completers {
    by_argument: IndexMap<String, Arc<Completer>>,
}

impl Completers {
    pub(crate) fn add<F, Fut>(&mut self, argument: String, completer: F)
    where
        F: Fn(RequestContext, CompletionRequest) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: Into<CompletionValues>,
    {
        let completer = move |ctx: RequestContext,
                              request: CompletionRequest|
              -> BoxFuture<'static, CompletionValues> {
            let running = completer(ctx, request);
            Box::pin(async move { running.await.into() })
        };
        self.by_argument.insert(argument, Arc::new(completer));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_argument.is_empty()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.by_argument.keys()
    }

    /// Returns suggestions for an argument. Without a completer, the list is empty.
    pub(crate) fn complete(
        &self,
        ctx: RequestContext,
        request: CompletionRequest,
    ) -> BoxFuture<'static, CompletionValues> {
        match self.by_argument.get(&request.argument) {
            Some(completer) => completer(ctx, request),
            None => Box::pin(std::future::ready(CompletionValues::default())),
        }
    }
}

impl fmt::Debug for Completers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_argument.keys()).finish()
    }
}

/// Handles `completion/complete`.
pub(crate) async fn complete(exchange: &Exchange) -> Outcome {
    let snapshot = exchange.snapshot();
    let version = exchange.context.version();
    let request: CompleteRequestParams = exchange.decode_params()?;
    let unknown =
        |what: &str, name: &str| ErrorObject::invalid_params(format!("unknown {what} `{name}`"));
    let completers = match &request.reference {
        CompletionReference::Prompt(reference) => {
            let prompt = snapshot.prompts.get(&reference.name);
            prompt
                .map(|prompt| prompt.completers.clone())
                .ok_or_else(|| unknown("prompt", &reference.name))?
        }
        CompletionReference::Resource(reference) => {
            let template = snapshot.templates.get(&reference.uri);
            match template {
                Some(template) => template.completers.clone(),
                // A fixed resource has nothing to complete, but it is a valid reference.
                None if snapshot.resources.contains_key(&reference.uri) => Default::default(),
                None => return Err(unknown("resource template", &reference.uri)),
            }
        }
        _ => {
            return Err(ErrorObject::invalid_params(
                "`ref` must be a prompt or a resource template",
            ));
        }
    };
    if let Some(access) = snapshot.completion_access(&request.reference) {
        exchange.context.check_scopes(access)?;
    }
    let typed = CompletionRequest {
        argument: request.argument.name,
        value: request.argument.value,
        arguments: request
            .context
            .and_then(|context| context.arguments)
            .unwrap_or_default(),
    };
    let completion = completers.complete(exchange.context.clone(), typed).await;
    snapshot.finish(completion.into_result(), version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_match_case_insensitively() {
        let completion = CompletionValues::prefix_match("al", ["Alice", "alan", "Bob"]);
        assert_eq!(
            completion.into_result().completion.values,
            ["Alice", "alan"]
        );
    }

    #[test]
    fn at_most_100_values_are_sent() {
        let many = |count: usize| {
            CompletionValues::new(vec!["x".to_owned(); count])
                .into_result()
                .completion
        };
        assert_eq!(
            (many(99).values.len(), many(99).has_more),
            (99, Some(false))
        );
        assert_eq!(
            (many(100).values.len(), many(100).has_more),
            (100, Some(false))
        );
        let limited = many(101);
        assert_eq!(
            (limited.values.len(), limited.has_more, limited.total),
            (100, Some(true), Some(101))
        );
    }
}
