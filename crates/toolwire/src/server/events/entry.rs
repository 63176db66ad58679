//! A registered event type.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use toolwire_proto::events::unsupported_mode;
use toolwire_proto::schema_budget::SchemaLimits;
use toolwire_types::events::{DeliveryMode, EventType};
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::Cancellation;
use crate::engine::schema_check::SchemaCheck;
use crate::engine::schema_pool::SchemaPool;
use crate::server::access::Access;
use crate::server::events::context::EventContext;
use crate::server::events::erased::{ErasedSource, TypedSource};
use crate::server::events::source::EventSource;
use crate::server::events::subscribers::{Subscribers, SubscriptionGuard};
use crate::server::registry::{RegistrationError, check_name};
use crate::server::schema;

/// A registered event type.
pub(crate) struct EventEntry {
    /// The entry of the list. Its delivery modes are those that the author permits.
    descriptor: EventType,
    access: Access,
    /// The source of its events. Every way of delivery uses it.
    pub(crate) source: Arc<dyn ErasedSource>,
    /// Set when the type is removed, which ends its subscriptions with −32023.
    pub(crate) removed: Cancellation,
    subscribers: Arc<Subscribers>,
}

impl EventEntry {
    /// Compiles the schemas and rejects types that cannot be served.
    pub(super) fn new<S: EventSource>(name: &str, source: S) -> Result<Self, RegistrationError> {
        check_name("event type", name)?;
        let what = format!("event type `{name}`");
        let invalid = |problem: &str| RegistrationError::new(format!("{what}: {problem}"));
        let input = schema::arguments_schema::<S::Arguments>();
        if input.get("type").and_then(Value::as_str) != Some("object") {
            return Err(invalid(
                "the arguments must be a struct with named fields, such as `NoArguments`",
            ));
        }
        let payload = schema::output_schema::<S::Payload>();
        let mut access = Access::default();
        access.add_scopes(source.required_scopes());
        access.check(&what)?;
        let delivery = source.delivery();
        if delivery.is_empty() {
            return Err(invalid(
                "it has no delivery mode; return one from `delivery`",
            ));
        }
        let documented = || Some(payload.get("description")?.as_str()?.to_owned());
        let description = source.description().or_else(documented);
        let check = schema::needs_validator(&input).then(|| {
            SchemaCheck::new(&input, &SchemaLimits::default())
                .map(Arc::new)
                .map_err(|problem| invalid(&format!("the input schema cannot be used: {problem}")))
        });
        let descriptor = EventType::new(
            name,
            description.unwrap_or_default(),
            RawJson::from_value(&input),
            RawJson::from_value(&payload),
        );
        let source: Arc<dyn ErasedSource> = Arc::new(TypedSource {
            name: name.into(),
            schema: check.transpose()?,
            pool: SchemaPool::default(),
            source,
        });
        Ok(Self {
            descriptor: descriptor.with_delivery(delivery),
            access,
            subscribers: Subscribers::new(Arc::clone(&source)),
            source,
            removed: Cancellation::new(),
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.descriptor.name
    }

    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    /// Returns the entry of the list, with the delivery modes that this server offers.
    pub(crate) fn listed(&self, has_webhooks: bool) -> Option<EventType> {
        let mut listed = self.descriptor.clone();
        let is_offered = |mode: &DeliveryMode| has_webhooks || *mode != DeliveryMode::Webhook;
        listed.delivery.retain(is_offered);
        (!listed.delivery.is_empty()).then_some(listed)
    }

    /// Rejects a delivery mode that this server does not offer for the type.
    pub(crate) fn check_mode(
        &self,
        mode: &DeliveryMode,
        has_webhooks: bool,
    ) -> Result<(), ErrorObject> {
        let is_possible = *mode != DeliveryMode::Webhook || has_webhooks;
        if is_possible && self.descriptor.offers(mode) {
            Ok(())
        } else {
            Err(unsupported_mode(self.name(), mode))
        }
    }

    /// Checks arguments, and whether the caller may receive their events.
    pub(crate) async fn admit(
        &self,
        ctx: &EventContext,
        arguments: &RawJson,
    ) -> Result<(), ErrorObject> {
        self.source.check(arguments).await?;
        self.source.authorize(ctx, arguments).await
    }

    /// Counts a subscription for the hooks of the source, until the guard is dropped.
    pub(crate) async fn subscribe(
        &self,
        ctx: &EventContext,
        arguments: &RawJson,
    ) -> Result<SubscriptionGuard, ErrorObject> {
        self.subscribers.enter(ctx, arguments).await
    }

    /// Counts a poll as a subscription for the time of its lease.
    pub(super) async fn lease(
        &self,
        ctx: &EventContext,
        arguments: &RawJson,
    ) -> Result<(), ErrorObject> {
        self.subscribers.lease(ctx, arguments).await
    }
}

impl fmt::Debug for EventEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventEntry")
            .field("descriptor", &self.descriptor)
            .finish_non_exhaustive()
    }
}
