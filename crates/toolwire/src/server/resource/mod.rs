//! Resources with fixed URIs, resource templates, and their readers.

mod arguments;
mod entry;
mod response;

use std::fmt;
use std::future::Future;

use toolwire_proto::cache::CacheHint;
use toolwire_proto::uri_template::UriTemplate;
use toolwire_types::{Annotations, Resource, ResourceTemplate};

use crate::server::RequestContext;
use crate::server::access::access_options;
use crate::server::completion::{Completers, CompletionRequest, CompletionValues};
use crate::server::registry::{RegistrationError, check_meta, descriptor_options};

pub use arguments::TemplateArguments;
use entry::ResourceCommon;
pub(crate) use entry::{ReadOutcome, ResolvedResource, ResourceEntry, TemplateEntry};
pub use response::{IntoResourceResponse, ResourceData, ResourceResponse};

/// A value that can be registered as a resource. `#[resource]` implements this.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a resource",
    note = "put `#[resource(uri = \"…\")]` on the function, or build a `ResourceHandler` from a closure"
)]
pub trait IntoResource {
    /// Converts the value into a resource handler.
    fn into_resource(self) -> ResourceHandler;
}

impl IntoResource for ResourceHandler {
    fn into_resource(self) -> ResourceHandler {
        self
    }
}

impl<F: FnOnce() -> ResourceHandler> IntoResource for F {
    fn into_resource(self) -> ResourceHandler {
        self()
    }
}

/// A value that can be registered as a resource template. `#[resource_template]` implements this.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a resource template",
    note = "put `#[resource_template(uri = \"…\")]` on the function, or build a `ResourceTemplateHandler` from a closure"
)]
pub trait IntoResourceTemplate {
    /// Converts the value into a resource template handler.
    fn into_resource_template(self) -> ResourceTemplateHandler;
}

impl IntoResourceTemplate for ResourceTemplateHandler {
    fn into_resource_template(self) -> ResourceTemplateHandler {
        self
    }
}

impl<F: FnOnce() -> ResourceTemplateHandler> IntoResourceTemplate for F {
    fn into_resource_template(self) -> ResourceTemplateHandler {
        self()
    }
}

/// A resource with a fixed URI, and its reader.
#[derive(Clone)]
pub struct ResourceHandler {
    descriptor: Resource,
    serving: ResourceCommon,
}

/// A URI template for resources, and their reader.
#[derive(Clone)]
pub struct ResourceTemplateHandler {
    descriptor: ResourceTemplate,
    completers: Completers,
    serving: ResourceCommon,
}

/// Defines the `with_*` methods that resources and templates share.
macro_rules! resource_options {
    () => {
        descriptor_options!();

        /// Sets the MIME type. Contents without a MIME type of their own use it as well.
        #[must_use]
        pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
            self.descriptor.mime_type = Some(mime_type.into());
            self
        }

        /// Sets annotations such as audience and priority.
        #[must_use]
        pub fn with_annotations(mut self, annotations: Annotations) -> Self {
            self.descriptor.annotations = Some(annotations);
            self
        }

        /// Sets how long, and in which scope, the contents may be cached (2026-07-28).
        #[must_use]
        pub fn with_cache(mut self, hint: CacheHint) -> Self {
            self.serving.cache = Some(hint);
            self
        }

        access_options!(serving.access);
    };
}

impl ResourceHandler {
    /// Creates a resource at a fixed URI. The reader receives the requested URI.
    pub fn new<M, F, Fut>(uri: impl Into<String>, name: impl Into<String>, reader: F) -> Self
    where
        F: Fn(RequestContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoResourceResponse<M>,
    {
        Self {
            descriptor: Resource::new(uri, name),
            serving: ResourceCommon::new(move |ctx, uri, _: TemplateArguments| reader(ctx, uri)),
        }
    }

    resource_options!();

    /// Sets the size in bytes.
    #[must_use]
    pub fn with_size(mut self, bytes: u64) -> Self {
        self.descriptor.size = Some(bytes);
        self
    }

    /// Returns the descriptor that clients see.
    #[must_use]
    pub fn descriptor(&self) -> &Resource {
        &self.descriptor
    }

    pub(crate) fn prepare(self) -> Result<ResourceEntry, RegistrationError> {
        if !self.descriptor.uri.contains(':') {
            return Err(RegistrationError::new(format!(
                "resource `{}`: a URI needs a scheme, such as `notes://`",
                self.descriptor.uri
            )));
        }
        let what = format!("resource `{}`", self.descriptor.uri);
        self.serving.access.check(&what)?;
        check_meta(&what, self.descriptor.meta.as_ref())?;
        Ok(ResourceEntry {
            descriptor: self.descriptor,
            serving: self.serving,
        })
    }
}

impl ResourceTemplateHandler {
    /// Creates resources at each URI that matches an RFC 6570 template. The reader receives the URI and its variables.
    pub fn new<M, F, Fut>(template: impl Into<String>, name: impl Into<String>, reader: F) -> Self
    where
        F: Fn(RequestContext, String, TemplateArguments) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoResourceResponse<M>,
    {
        Self {
            descriptor: ResourceTemplate::new(template, name),
            completers: Completers::default(),
            serving: ResourceCommon::new(reader),
        }
    }

    resource_options!();

    /// Sets the completer of a variable, which runs while the user types.
    #[must_use]
    pub fn with_completion<F, Fut>(mut self, variable: impl Into<String>, completer: F) -> Self
    where
        F: Fn(RequestContext, CompletionRequest) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: Into<CompletionValues>,
    {
        self.completers.add(variable.into(), completer);
        self
    }

    /// Returns the descriptor that clients see.
    #[must_use]
    pub fn descriptor(&self) -> &ResourceTemplate {
        &self.descriptor
    }

    pub(crate) fn prepare(self) -> Result<TemplateEntry, RegistrationError> {
        let text = &self.descriptor.uri_template;
        let reject = |problem: String| {
            RegistrationError::new(format!("resource template `{text}`: {problem}"))
        };
        let template = UriTemplate::parse(text).map_err(|problem| reject(problem.to_string()))?;
        template
            .check_matchable()
            .map_err(|problem| reject(problem.to_string()))?;
        let variables = template.variables();
        if let Some(unknown) = self
            .completers
            .names()
            .find(|name| !variables.contains(&name.as_str()))
        {
            return Err(reject(format!(
                "a completion is given for `{unknown}`, which is not a variable"
            )));
        }
        let what = format!("resource template `{text}`");
        self.serving.access.check(&what)?;
        check_meta(&what, self.descriptor.meta.as_ref())?;
        Ok(TemplateEntry {
            template,
            descriptor: self.descriptor,
            completers: self.completers,
            serving: self.serving,
        })
    }
}

impl fmt::Debug for ResourceHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceHandler")
            .field("descriptor", &self.descriptor)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ResourceTemplateHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceTemplateHandler")
            .field("descriptor", &self.descriptor)
            .finish_non_exhaustive()
    }
}
