//! Middleware of a client from async functions and closures.

use std::future::Future;

use toolwire_types::RawJson;

use crate::client::middleware::{ClientMiddleware, ClientNext, ClientRequest};
use crate::engine::BoxFuture;
use crate::error::Error;

/// Makes a middleware of an async function, or of an async closure that captures nothing. A middleware with data of its
/// own uses [`from_fn_with`] or implements [`ClientMiddleware`].
///
/// ```
/// use toolwire::client_middleware::{ClientNext, ClientRequest, from_fn};
/// use toolwire::{Client, ErrorObject};
///
/// let read_only = from_fn(async |request: &mut ClientRequest, next: ClientNext<'_>| match request.name() {
///     Some(name) if name.starts_with("write_") => Err(ErrorObject::invalid_request("read only").into()),
///     _ => next.run(request).await,
/// });
/// let builder = Client::builder("agent", "1.0.0").with_middleware(read_only);
/// # drop(builder);
/// ```
pub fn from_fn<F>(function: F) -> impl ClientMiddleware
where
    F: for<'a> ClientMiddlewareFn<'a> + Send + Sync + 'static,
{
    FunctionMiddleware(function)
}

/// Makes a middleware of data and an async function or closure that borrows it.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use toolwire::Client;
/// use toolwire::client_middleware::{ClientNext, ClientRequest, from_fn_with};
///
/// let requests = Arc::new(AtomicUsize::new(0));
/// let counting = from_fn_with(
///     Arc::clone(&requests),
///     async |requests: &Arc<AtomicUsize>, request: &mut ClientRequest, next: ClientNext<'_>| {
///         requests.fetch_add(1, Ordering::Relaxed);
///         next.run(request).await
///     },
/// );
/// let builder = Client::builder("agent", "1.0.0").with_middleware(counting);
/// # drop(builder);
/// ```
pub fn from_fn_with<S, F>(data: S, function: F) -> impl ClientMiddleware
where
    S: Send + Sync + 'static,
    F: for<'a> ClientMiddlewareFnWith<'a, S> + Send + Sync + 'static,
{
    DataMiddleware { data, function }
}

/// A function that [`from_fn`] accepts. It is implemented for all functions of this form.
#[doc(hidden)]
pub trait ClientMiddlewareFn<'a>:
    Fn(&'a mut ClientRequest, ClientNext<'a>) -> <Self as ClientMiddlewareFn<'a>>::Future
{
    type Future: Future<Output = Result<RawJson, Error>> + Send + 'a;
}

impl<'a, F, Fut> ClientMiddlewareFn<'a> for F
where
    F: Fn(&'a mut ClientRequest, ClientNext<'a>) -> Fut,
    Fut: Future<Output = Result<RawJson, Error>> + Send + 'a,
{
    type Future = Fut;
}

/// A function that [`from_fn_with`] accepts. It is implemented for all functions of this form.
#[doc(hidden)]
pub trait ClientMiddlewareFnWith<'a, S: 'a>:
    Fn(&'a S, &'a mut ClientRequest, ClientNext<'a>) -> <Self as ClientMiddlewareFnWith<'a, S>>::Future
{
    type Future: Future<Output = Result<RawJson, Error>> + Send + 'a;
}

impl<'a, S: 'a, F, Fut> ClientMiddlewareFnWith<'a, S> for F
where
    F: Fn(&'a S, &'a mut ClientRequest, ClientNext<'a>) -> Fut,
    Fut: Future<Output = Result<RawJson, Error>> + Send + 'a,
{
    type Future = Fut;
}

/// The middleware of a function.
struct FunctionMiddleware<F>(F);

/// The middleware of data and a function.
struct DataMiddleware<S, F> {
    data: S,
    function: F,
}

impl<F> ClientMiddleware for FunctionMiddleware<F>
where
    F: for<'a> ClientMiddlewareFn<'a> + Send + Sync + 'static,
{
    fn handle<'a>(
        &'a self,
        request: &'a mut ClientRequest,
        next: ClientNext<'a>,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin((self.0)(request, next))
    }
}

impl<S, F> ClientMiddleware for DataMiddleware<S, F>
where
    S: Send + Sync + 'static,
    F: for<'a> ClientMiddlewareFnWith<'a, S> + Send + Sync + 'static,
{
    fn handle<'a>(
        &'a self,
        request: &'a mut ClientRequest,
        next: ClientNext<'a>,
    ) -> BoxFuture<'a, Result<RawJson, Error>> {
        Box::pin((self.function)(&self.data, request, next))
    }
}
