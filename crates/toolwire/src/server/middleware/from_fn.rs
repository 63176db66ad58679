//! Middleware from async functions and closures.

use std::any::type_name;
use std::borrow::Cow;
use std::fmt;
use std::future::Future;

use crate::engine::BoxFuture;
use crate::server::inspection::short_type_name;
use crate::server::middleware::{Middleware, Next, Outcome, Request};

/// Makes a middleware of an async function, or of an async closure that captures nothing. A middleware with data of its
/// own uses [`from_fn_with`] or implements [`Middleware`].
///
/// ```
/// use toolwire::middleware::{Next, Request, from_fn};
/// use toolwire::{ErrorObject, Server};
///
/// let read_only = from_fn(async |request: &mut Request, next: Next<'_>| {
///     match request.name() {
///         Some(name) if name.starts_with("write_") => ErrorObject::invalid_request("read only").into(),
///         _ => next.run(request).await,
///     }
/// });
/// let server = Server::new("demo", "1.0.0").with_middleware(read_only);
/// # drop(server);
/// ```
pub fn from_fn<F>(function: F) -> FromFn<F>
where
    F: for<'a> MiddlewareFn<'a> + Send + Sync + 'static,
{
    FromFn { function }
}

/// Makes a middleware of data and an async function or closure that borrows it.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use std::sync::Arc;
/// use toolwire::Server;
/// use toolwire::middleware::{Next, Request, from_fn_with};
///
/// let requests = Arc::new(AtomicUsize::new(0));
/// let counting = from_fn_with(
///     Arc::clone(&requests),
///     async |requests: &Arc<AtomicUsize>, request: &mut Request, next: Next<'_>| {
///         requests.fetch_add(1, Ordering::Relaxed);
///         next.run(request).await
///     },
/// );
/// let server = Server::new("demo", "1.0.0").with_middleware(counting);
/// # drop(server);
/// ```
pub fn from_fn_with<S, F>(data: S, function: F) -> FromFnWith<S, F>
where
    S: Send + Sync + 'static,
    F: for<'a> MiddlewareFnWith<'a, S> + Send + Sync + 'static,
{
    FromFnWith { data, function }
}

/// A function that [`from_fn`] accepts. It is implemented for all functions of this form.
#[doc(hidden)]
pub trait MiddlewareFn<'a>:
    Fn(&'a mut Request, Next<'a>) -> <Self as MiddlewareFn<'a>>::Future
{
    type Future: Future<Output = Outcome> + Send + 'a;
}

impl<'a, F, Fut> MiddlewareFn<'a> for F
where
    F: Fn(&'a mut Request, Next<'a>) -> Fut,
    Fut: Future<Output = Outcome> + Send + 'a,
{
    type Future = Fut;
}

/// A function that [`from_fn_with`] accepts. It is implemented for all functions of this form.
#[doc(hidden)]
pub trait MiddlewareFnWith<'a, S: 'a>:
    Fn(&'a S, &'a mut Request, Next<'a>) -> <Self as MiddlewareFnWith<'a, S>>::Future
{
    type Future: Future<Output = Outcome> + Send + 'a;
}

impl<'a, S: 'a, F, Fut> MiddlewareFnWith<'a, S> for F
where
    F: Fn(&'a S, &'a mut Request, Next<'a>) -> Fut,
    Fut: Future<Output = Outcome> + Send + 'a,
{
    type Future = Fut;
}

/// The middleware that [`from_fn`] returns.
#[non_exhaustive]
pub struct FromFn<F> {
    function: F,
}

impl<F> Middleware for FromFn<F>
where
    F: for<'a> MiddlewareFn<'a> + Send + Sync + 'static,
{
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin((self.function)(request, next))
    }

    fn name(&self) -> Cow<'_, str> {
        short_type_name(type_name::<F>()).into()
    }
}

impl<F> fmt::Debug for FromFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FromFn").finish_non_exhaustive()
    }
}

/// The middleware that [`from_fn_with`] returns.
#[non_exhaustive]
pub struct FromFnWith<S, F> {
    data: S,
    function: F,
}

impl<S, F> Middleware for FromFnWith<S, F>
where
    S: Send + Sync + 'static,
    F: for<'a> MiddlewareFnWith<'a, S> + Send + Sync + 'static,
{
    fn handle<'a>(&'a self, request: &'a mut Request, next: Next<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin((self.function)(&self.data, request, next))
    }

    fn name(&self) -> Cow<'_, str> {
        short_type_name(type_name::<F>()).into()
    }
}

impl<S, F> fmt::Debug for FromFnWith<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FromFnWith").finish_non_exhaustive()
    }
}
