//! Registered resources: lookup by URI, and reading.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use toolwire_proto::cache::CacheHint;
use toolwire_proto::raw_object::json_string;
use toolwire_proto::uri_template::UriTemplate;
use toolwire_types::{
    BlobResourceContents, RawJson, ReadResourceResult, Resource, ResourceTemplate,
    TextResourceContents,
};

use crate::engine::BoxFuture;
use crate::server::RequestContext;
use crate::server::access::Access;
use crate::server::completion::Completers;
use crate::server::mount::{CatalogEntry, ExposedUris, Origin, UriExposure};
use crate::server::raw_entry::{RawEntry, RawHandler};
use crate::server::registry::{RegistrationError, parse_raw};
use crate::server::resource::arguments::TemplateArguments;
use crate::server::resource::response::{IntoResourceResponse, ResourceData, ResourceResponse};
use crate::server::tool_error::ToolError;
use crate::server::visibility::{EntryKind, UsedTemplate};

type Outcome = Result<ResourceResponse, ToolError>;
type Reader =
    dyn Fn(RequestContext, String, TemplateArguments) -> BoxFuture<'static, Outcome> + Send + Sync;

/// The data that resources and templates share.
#[derive(Clone)]
pub(super) struct ResourceCommon {
    reader: Arc<Reader>,
    pub(super) access: Access,
    pub(super) cache: Option<CacheHint>,
    /// The mount that the entry comes from, if any.
    origin: Option<Arc<Origin>>,
    /// Set if the entry is raw. Then the reader is not used.
    raw: Option<Arc<RawEntry>>,
}

impl ResourceCommon {
    pub(super) fn new<M, F, Fut>(reader: F) -> Self
    where
        F: Fn(RequestContext, String, TemplateArguments) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoResourceResponse<M>,
    {
        let reader = move |ctx: RequestContext,
                           uri: String,
                           values: TemplateArguments|
              -> BoxFuture<'static, Outcome> {
            let running = reader(ctx, uri, values);
            Box::pin(async move { running.await.into_resource_response() })
        };
        Self {
            reader: Arc::new(reader),
            access: Access::default(),
            cache: None,
            origin: None,
            raw: None,
        }
    }

    fn of_raw(descriptor: RawJson, handler: RawHandler) -> Self {
        let raw = RawEntry {
            descriptor,
            local_name: None,
            handler,
            hidden: None,
            exposures: Vec::new(),
        };
        Self {
            raw: Some(Arc::new(raw)),
            ..Self::new(|_, _, _| async { String::new() })
        }
    }

    /// Exposes a raw entry under this URI or template. Returns `false` if the entry is not raw.
    fn expose(&mut self, exposure: &UriExposure, member: &'static str, exposed: &str) -> bool {
        let Some(raw) = &self.raw else {
            return false;
        };
        let exposed = json_string(exposed);
        let entry = raw.with_members([(member, exposed.as_raw_value())]);
        self.raw = Some(Arc::new(entry.exposed(exposure)));
        true
    }

    fn mounted(&self, access: &Access, origin: Arc<Origin>) -> Self {
        Self {
            reader: Arc::clone(&self.reader),
            access: self.access.with_scopes_of(access),
            cache: self.cache,
            origin: Some(origin),
            raw: self.raw.clone(),
        }
    }
}

/// A registered resource.
pub(crate) struct ResourceEntry {
    pub(crate) descriptor: Resource,
    pub(super) serving: ResourceCommon,
}

/// A registered template.
pub(crate) struct TemplateEntry {
    pub(crate) template: UriTemplate,
    pub(crate) descriptor: ResourceTemplate,
    pub(crate) completers: Completers,
    pub(super) serving: ResourceCommon,
}

impl fmt::Debug for ResourceEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceEntry")
            .field("uri", &self.descriptor.uri)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for TemplateEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TemplateEntry")
            .field("template", &self.descriptor.uri_template)
            .finish_non_exhaustive()
    }
}

/// A resource that was resolved from a URI and can be read.
#[derive(Clone)]
pub(crate) struct ResolvedResource {
    uri: String,
    mime_type: Option<String>,
    values: TemplateArguments,
    pub(super) serving: ResourceCommon,
}

impl CatalogEntry for ResourceEntry {
    fn origin(&self) -> Option<&Arc<Origin>> {
        self.serving.origin.as_ref()
    }

    fn is_listed_as(&self, other: &Self) -> bool {
        self.descriptor == other.descriptor
    }
}

impl CatalogEntry for TemplateEntry {
    fn origin(&self) -> Option<&Arc<Origin>> {
        self.serving.origin.as_ref()
    }

    fn kind(&self) -> EntryKind<'_> {
        EntryKind::Template
    }

    fn is_listed_as(&self, other: &Self) -> bool {
        self.descriptor == other.descriptor
    }
}

impl ResourceEntry {
    /// Creates a raw resource.
    pub(crate) fn raw(descriptor: RawJson, handler: RawHandler) -> Result<Self, RegistrationError> {
        Ok(Self {
            descriptor: parse_raw("resource", &descriptor)?,
            serving: ResourceCommon::of_raw(descriptor, handler),
        })
    }

    /// Returns the raw entry, if it is one.
    pub(crate) fn raw_entry(&self) -> Option<&Arc<RawEntry>> {
        self.serving.raw.as_ref()
    }

    /// Returns the resource as a server offers it that mounted it.
    pub(crate) fn mounted(&self, access: &Access, origin: Arc<Origin>) -> Self {
        Self {
            descriptor: self.descriptor.clone(),
            serving: self.serving.mounted(access, origin),
        }
    }

    /// Exposes a raw resource under this URI. Others do not change.
    pub(crate) fn expose(&mut self, exposure: &UriExposure, uri: &str) {
        if self.serving.expose(exposure, "uri", uri) {
            uri.clone_into(&mut self.descriptor.uri);
        }
    }

    pub(crate) fn access(&self) -> &Access {
        &self.serving.access
    }

    pub(crate) fn resolve(&self) -> ResolvedResource {
        ResolvedResource {
            uri: self.descriptor.uri.clone(),
            mime_type: self.descriptor.mime_type.clone(),
            values: TemplateArguments::default(),
            serving: self.serving.clone(),
        }
    }
}

impl TemplateEntry {
    /// Creates a raw template.
    pub(crate) fn raw(descriptor: RawJson, handler: RawHandler) -> Result<Self, RegistrationError> {
        let decoded: ResourceTemplate = parse_raw("resource template", &descriptor)?;
        let template = UriTemplate::parse(&decoded.uri_template).map_err(|problem| {
            let uri = &decoded.uri_template;
            RegistrationError::new(format!("resource template `{uri}`: {problem}"))
        })?;
        Ok(Self {
            template,
            descriptor: decoded,
            completers: Completers::default(),
            serving: ResourceCommon::of_raw(descriptor, handler),
        })
    }

    /// Returns the raw entry, if it is one.
    pub(crate) fn raw_entry(&self) -> Option<&Arc<RawEntry>> {
        self.serving.raw.as_ref()
    }

    /// Returns the template as a server offers it that mounted it.
    pub(crate) fn mounted(&self, access: &Access, origin: Arc<Origin>) -> Self {
        Self {
            template: self.template.clone(),
            descriptor: self.descriptor.clone(),
            completers: self.completers.clone(),
            serving: self.serving.mounted(access, origin),
        }
    }

    /// Exposes a raw template under this template. Others do not change.
    pub(crate) fn expose(&mut self, exposure: &UriExposure, template: &str) {
        let Ok(parsed) = UriTemplate::parse(template) else {
            return;
        };
        if self.serving.expose(exposure, "uriTemplate", template) {
            template.clone_into(&mut self.descriptor.uri_template);
            self.template = parsed;
        }
    }

    pub(crate) fn access(&self) -> &Access {
        &self.serving.access
    }

    /// Returns the use of the template for a URI, as rules see it. `exposed` is the table of the snapshot of the request.
    pub(crate) fn used_for(&self, uri: &str, exposed: &Arc<ExposedUris>) -> UsedTemplate {
        let mut uris = vec![uri.to_owned()];
        let exposures = self.raw_entry().map(|raw| raw.exposures.as_slice());
        let mut own = uri.to_owned();
        let levels = UriExposure::levels_of_request(exposures.unwrap_or_default(), exposed);
        for uris_of_mount in levels {
            own = uris_of_mount.own_uri(&own);
            uris.push(own.clone());
        }
        UsedTemplate {
            template: self.descriptor.uri_template.clone(),
            uris,
        }
    }

    /// Returns the resource at a URI, if the template matches it.
    pub(crate) fn resolve(&self, uri: &str) -> Option<ResolvedResource> {
        let values = self.template.matches(uri)?;
        Some(ResolvedResource {
            uri: uri.to_owned(),
            mime_type: self.descriptor.mime_type.clone(),
            values: TemplateArguments::new(values),
            serving: self.serving.clone(),
        })
    }
}

/// The outcome of a read.
#[derive(Debug)]
pub(crate) enum ReadOutcome {
    Complete(ReadResourceResult),
    #[cfg(feature = "input")]
    InputRequired(toolwire_types::InputRequiredResult),
}

impl ResolvedResource {
    /// Returns the raw entry, if it is one.
    pub(crate) fn raw_entry(&self) -> Option<&Arc<RawEntry>> {
        self.serving.raw.as_ref()
    }

    pub(crate) fn origin(&self) -> Option<&Arc<Origin>> {
        self.serving.origin.as_ref()
    }

    pub(crate) fn access(&self) -> &Access {
        &self.serving.access
    }

    /// Runs the reader and adds the MIME type and cache hint of the descriptor.
    pub(crate) async fn read(
        self,
        ctx: RequestContext,
        default_hint: CacheHint,
    ) -> Result<ReadOutcome, ToolError> {
        let response = (self.serving.reader)(ctx, self.uri.clone(), self.values).await?;
        let mut result = match response {
            #[cfg(feature = "input")]
            ResourceResponse::InputRequired(input_required) => {
                return Ok(ReadOutcome::InputRequired(input_required));
            }
            ResourceResponse::Complete(result) => result,
            ResourceResponse::Contents(ResourceData::Text(text)) => {
                let mut contents = TextResourceContents::new(self.uri, text);
                contents.mime_type = self.mime_type;
                ReadResourceResult::new(vec![contents.into()])
            }
            ResourceResponse::Contents(ResourceData::Bytes(bytes)) => {
                let mut contents = BlobResourceContents::new(self.uri, STANDARD.encode(bytes));
                contents.mime_type = self.mime_type;
                ReadResourceResult::new(vec![contents.into()])
            }
        };
        let hint = self.serving.cache.unwrap_or(default_hint);
        result.ttl_ms.get_or_insert(hint.ttl_ms());
        result.cache_scope.get_or_insert(hint.scope);
        Ok(ReadOutcome::Complete(result))
    }
}
