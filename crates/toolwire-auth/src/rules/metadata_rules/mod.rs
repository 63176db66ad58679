//! Rules for metadata documents, and the choices that a client derives from them.

mod client_auth;
mod client_id_document;
mod registration;
mod resource;
mod server;

pub(crate) use self::client_auth::{AuthMethod, ClientCredentials};
pub(crate) use self::client_id_document::{check_client_id_document, check_client_id_url};
pub(crate) use self::registration::{Registration, RegistrationOptions};
pub(crate) use self::resource::check_resource;
pub(crate) use self::server::{IssuerPolicy, check_identity, check_server, keys_url};
