//! Chooses how a client identifies itself to an authorization server.
//!
//! Spec 2026-07-28, authorization/client-registration: "Clients supporting all options should use the following
//! priority order", and "Authorization Server Binding".

use std::fmt;

use crate::documents::AuthorizationServerMetadata;

/// The way in which a client identifies itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registration {
    /// Use pre-registered credentials.
    PreRegistered,
    /// Use the URL of the client ID metadata document as client id.
    Document,
    /// Register at `registration_endpoint`.
    Dynamic,
    /// Ask the user for credentials, because no other option is available.
    AskUser,
}

/// The options of a client.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RegistrationOptions<'a> {
    /// The issuer of the client's pre-registered credentials.
    pub pre_registered_with: Option<&'a str>,
    /// Whether the client has a metadata document at a URL.
    pub has_document: bool,
    /// Whether the client may register dynamically.
    pub may_register: bool,
}

impl RegistrationOptions<'_> {
    /// Returns the first available option.
    ///
    /// # Errors
    /// Returns an error if the pre-registered credentials are of another issuer. They are never sent to this one.
    pub(crate) fn choose(
        &self,
        metadata: &AuthorizationServerMetadata,
    ) -> Result<Registration, IssuerMismatch> {
        if let Some(issuer) = self.pre_registered_with {
            return if issuer == metadata.issuer {
                Ok(Registration::PreRegistered)
            } else {
                Err(IssuerMismatch {
                    issuer: issuer.to_owned(),
                })
            };
        }
        let supports_documents = metadata.client_id_metadata_document_supported == Some(true);
        Ok(if self.has_document && supports_documents {
            Registration::Document
        } else if self.may_register && metadata.registration_endpoint.is_some() {
            Registration::Dynamic
        } else {
            Registration::AskUser
        })
    }
}

/// The error if pre-registered credentials belong to another authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct IssuerMismatch {
    /// The issuer of the credentials.
    pub issuer: String,
}

impl fmt::Display for IssuerMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the client's credentials are for `{}`, but the server now names another issuer; register the client there",
            self.issuer
        )
    }
}

impl std::error::Error for IssuerMismatch {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_available_option_is_chosen() {
        let check = |has_document, may_register, supports_documents, has_endpoint, expected| {
            let options = RegistrationOptions {
                pre_registered_with: None,
                has_document,
                may_register,
            };
            let mut metadata = AuthorizationServerMetadata::new("https://a");
            metadata.client_id_metadata_document_supported = supports_documents;
            if has_endpoint {
                metadata = metadata.with_registration_endpoint("https://a/register");
            }
            assert_eq!(options.choose(&metadata), Ok(expected));
        };
        check(true, true, Some(true), true, Registration::Document);
        check(true, true, Some(false), true, Registration::Dynamic);
        check(true, true, None, true, Registration::Dynamic);
        check(false, true, Some(true), true, Registration::Dynamic);
        check(false, true, Some(true), false, Registration::AskUser);
        check(true, false, None, true, Registration::AskUser);
        check(true, false, Some(true), false, Registration::Document);
    }

    #[test]
    fn credentials_are_bound_to_their_issuer() {
        let options = RegistrationOptions {
            pre_registered_with: Some("https://a"),
            has_document: true,
            may_register: true,
        };
        let same = AuthorizationServerMetadata::new("https://a");
        assert_eq!(options.choose(&same), Ok(Registration::PreRegistered));
        for issuer in ["https://b", "https://a/", "https://A"] {
            let other = AuthorizationServerMetadata::new(issuer);
            let error = options.choose(&other).unwrap_err();
            assert_eq!(error.issuer, "https://a", "{issuer}");
        }
    }
}
