//! Completion of prompt arguments and template variables.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use indexmap::IndexMap;
use toolwire_proto::raw_object::RawObject;
use toolwire_types::{
    CompleteRequestParams, CompleteResult, Completion as WireCompletion, CompletionReference,
    ErrorObject, RawJson,
};

use crate::engine::{BoxFuture, Outcome};
use crate::server::RequestContext;
use crate::server::mount::{CatalogEntry as _, Origin};
use crate::server::raw_entry::RawHandler;
use crate::server::request::Exchange;
use crate::server::visibility::Viewer;

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

/// The completer of a server, for arguments and variables without a completer of their own.
#[derive(Clone)]
pub(crate) struct DefaultCompleter(Arc<DefaultCompleterFn>);

type DefaultCompleterFn = dyn Fn(
        RequestContext,
        CompletionReference,
        CompletionRequest,
    ) -> BoxFuture<'static, CompletionValues>
    + Send
    + Sync;

impl DefaultCompleter {
    pub(crate) fn new<F, Fut>(completer: F) -> Self
    where
        F: Fn(RequestContext, CompletionReference, CompletionRequest) -> Fut
            + Send
            + Sync
            + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: Into<CompletionValues>,
    {
        let completer = move |ctx: RequestContext,
                              reference: CompletionReference,
                              request: CompletionRequest|
              -> BoxFuture<'static, CompletionValues> {
            let running = completer(ctx, reference, request);
            Box::pin(async move { running.await.into() })
        };
        Self(Arc::new(completer))
    }
}

impl fmt::Debug for DefaultCompleter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DefaultCompleter")
    }
}

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

    fn get(&self, argument: &str) -> Option<Arc<Completer>> {
        self.by_argument.get(argument).cloned()
    }
}

impl fmt::Debug for Completers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_argument.keys()).finish()
    }
}

/// The code that completes one argument or variable.
enum Suggestions {
    /// The completer of the argument or variable itself.
    Own(Arc<Completer>),
    /// The completer of the server, if it has one.
    OfServer,
    /// The completer of the mounted server, if it has one.
    OfMount(Arc<Origin>),
    /// The prompt or template has no such argument or variable.
    None,
}

/// Handles `completion/complete`.
pub(crate) async fn complete(exchange: &Exchange) -> Outcome {
    let snapshot = exchange.snapshot();
    let version = exchange.context.version();
    let request: CompleteRequestParams = exchange.decode_params()?;
    let viewer = exchange.viewer();
    if let Some(access) = snapshot.completion_access(&request.reference, &viewer)
        && let Some((completer, params)) = raw_completion(exchange, &viewer, &request.reference)
    {
        exchange.context.check_scopes(access)?;
        return completer.respond(exchange, params).await;
    }
    let suggestions = find(
        exchange,
        &viewer,
        &request.reference,
        &request.argument.name,
    )?;
    if let Some(access) = snapshot.completion_access(&request.reference, &viewer) {
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
    let ctx = exchange.context.clone();
    let completion = match (suggestions, &snapshot.completer) {
        (Suggestions::Own(completer), _) => completer(ctx, typed).await,
        (Suggestions::OfServer, Some(DefaultCompleter(completer))) => {
            completer(ctx, request.reference, typed).await
        }
        (Suggestions::OfMount(origin), _) => match &origin.completer {
            Some((DefaultCompleter(completer), local_name)) => {
                let reference = with_name(request.reference, local_name);
                completer(ctx, reference, typed).await
            }
            None => CompletionValues::default(),
        },
        (Suggestions::OfServer | Suggestions::None, _) => CompletionValues::default(),
    };
    snapshot.finish(completion.into_result(), version)
}

/// Finds the code for an argument of a prompt or a variable of a template.
fn find(
    exchange: &Exchange,
    viewer: &Viewer<'_>,
    reference: &CompletionReference,
    argument: &str,
) -> Result<Suggestions, ErrorObject> {
    let snapshot = exchange.snapshot();
    let unknown =
        |what: &str, name: &str| ErrorObject::invalid_params(format!("unknown {what} `{name}`"));
    let (own, is_declared, origin) = match reference {
        CompletionReference::Prompt(reference) => {
            let prompt = snapshot.find_prompt(&reference.name, viewer);
            let prompt = prompt.ok_or_else(|| unknown("prompt", &reference.name))?;
            let declared = prompt.descriptor.arguments.as_deref().unwrap_or_default();
            let is_declared = declared.iter().any(|known| known.name == argument);
            let own = prompt.completers.get(argument);
            (own, is_declared, prompt.origin())
        }
        CompletionReference::Resource(reference) => {
            match snapshot.find_template(&reference.uri, viewer) {
                Some(template) => {
                    let is_declared = template.template.variables().contains(&argument);
                    let own = template.completers.get(argument);
                    (own, is_declared, template.origin())
                }
                // A fixed resource has nothing to complete, but it is a valid reference.
                None if snapshot
                    .find_fixed_resource(&reference.uri, viewer)
                    .is_some() =>
                {
                    (None, false, None)
                }
                None => return Err(unknown("resource template", &reference.uri)),
            }
        }
        _ => {
            return Err(ErrorObject::invalid_params(
                "`ref` must be a prompt or a resource template",
            ));
        }
    };
    Ok(match own {
        Some(completer) => Suggestions::Own(completer),
        None if !is_declared => Suggestions::None,
        None => match origin {
            Some(origin) => Suggestions::OfMount(Arc::clone(origin)),
            None => Suggestions::OfServer,
        },
    })
}

/// Returns the raw completer of a prompt or template, and the parameters that it gets.
fn raw_completion(
    exchange: &Exchange,
    viewer: &Viewer<'_>,
    reference: &CompletionReference,
) -> Option<(RawHandler, RawJson)> {
    let snapshot = exchange.snapshot();
    let (origin, member) = match reference {
        CompletionReference::Prompt(prompt) => (
            snapshot.find_prompt(&prompt.name, viewer)?.origin()?,
            "name",
        ),
        CompletionReference::Resource(template) => (
            snapshot.find_template(&template.uri, viewer)?.origin()?,
            "uri",
        ),
        _ => return None,
    };
    let (completer, local_name) = origin.raw_completer.clone()?;
    let params = exchange.params()?;
    let mut object = RawObject::parse(params.as_raw_value())?;
    object.object_mut("ref")?.set_text(member, &local_name);
    Some((completer, object.finish()))
}

/// Returns the reference to a prompt or template by the name that a mounted server has for it.
fn with_name(mut reference: CompletionReference, name: &str) -> CompletionReference {
    match &mut reference {
        CompletionReference::Prompt(prompt) => name.clone_into(&mut prompt.name),
        CompletionReference::Resource(template) => name.clone_into(&mut template.uri),
        _ => {}
    }
    reference
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
