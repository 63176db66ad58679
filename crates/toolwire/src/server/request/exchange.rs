//! One admitted request.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use toolwire_proto::decode_message::decode_message;
use toolwire_proto::methods::Method;
use toolwire_types::{ErrorObject, RawJson};

use crate::server::RequestContext;
use crate::server::snapshot::Snapshot;

/// An admitted request with the context that its handler needs.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) context: RequestContext,
}

impl Exchange {
    /// Returns the route of the method.
    pub(crate) fn route(&self) -> &MethodRoute {
        &self.context.scope().route
    }

    /// Returns all parameters. `None` for methods that need only a name and arguments.
    pub(crate) fn params(&self) -> Option<&RawJson> {
        self.context.scope().params.as_ref()
    }

    /// Returns the server's snapshot from when the request arrived.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.context.scope().snapshot
    }

    /// Returns the name of the tool or prompt, or the URI, for methods that carry one.
    pub(crate) fn name(&self) -> Option<&str> {
        self.context.scope().request_params.name()
    }

    /// Returns the arguments of a tool or prompt.
    pub(crate) fn arguments(&self) -> Option<&RawValue> {
        self.context.scope().request_params.arguments()
    }

    /// Decodes the parameters of the method.
    pub(crate) fn decode_params<T: DeserializeOwned>(&self) -> Result<T, ErrorObject> {
        let text = self.params().map_or("{}", |params| params.get());
        serde_json::from_str(text).map_err(|error| {
            ErrorObject::invalid_params(format!("params: {}", decode_message(&error)))
        })
    }
}

/// The route of a method: a method of the protocol, or one that the author registered.
#[derive(Debug, Clone)]
pub(crate) enum MethodRoute {
    Known(&'static Method),
    Custom(Box<str>),
}

impl MethodRoute {
    /// Returns the wire name of the method.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Known(method) => method.name,
            Self::Custom(name) => name,
        }
    }
}
