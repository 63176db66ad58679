//! Rules for metadata documents, and the choices that a client derives from them.

mod client_auth;
mod client_id_document;
mod registration;
mod resource;
mod server;

pub use self::client_auth::{AuthMethod, ClientCredentials, NoAuthMethod};
pub use self::client_id_document::{
    ClientDocumentError, MAX_REDIRECT_URIS, check_client_id_document, check_client_id_url,
};
pub use self::registration::{IssuerMismatch, Registration, RegistrationOptions};
pub use self::resource::{CheckedResource, ResourceMetadataError, check_resource};
pub use self::server::{
    IssuerPolicy, ServerMetadataError, check_identity, check_server, keys_url,
    takes_identity_assertions,
};
