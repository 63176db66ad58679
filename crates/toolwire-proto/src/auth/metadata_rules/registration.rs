//! How a client becomes known to an authorization server.
//!
//! Spec 2026-07-28, authorization/client-registration: "Clients supporting all options should use the following priority
//! order", and "Authorization Server Binding".

use std::fmt;

use toolwire_types::auth::AuthorizationServerMetadata;

/// The way to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the specification knows these four, and a caller has to do each"
)]
pub enum Registration {
    /// Use the credentials that were registered before.
    PreRegistered,
    /// Use the URL of the client's own document as its id.
    Document,
    /// Register at `registration_endpoint`.
    Dynamic,
    /// Nothing is left but to ask the user for credentials.
    AskUser,
}

/// What a client could do.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a caller that forgets an option would go another way"
)]
pub struct RegistrationOptions<'a> {
    /// The issuer that the client has credentials of.
    pub pre_registered_with: Option<&'a str>,
    /// Whether the client has a document about itself at a URL.
    pub has_document: bool,
    /// Whether it may register itself.
    pub may_register: bool,
}

impl RegistrationOptions<'_> {
    /// The first way that is open.
    ///
    /// # Errors
    /// When there are credentials, but of another issuer. They are never sent to this one.
    pub fn choose(
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
        let reads_documents = metadata.client_id_metadata_document_supported == Some(true);
        Ok(if self.has_document && reads_documents {
            Registration::Document
        } else if self.may_register && metadata.registration_endpoint.is_some() {
            Registration::Dynamic
        } else {
            Registration::AskUser
        })
    }
}

/// The credentials that were registered before belong to another authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IssuerMismatch {
    /// The issuer they belong to.
    pub issuer: String,
}

impl fmt::Display for IssuerMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the client's credentials are for `{}`, and the server now trusts another issuer: register there",
            self.issuer
        )
    }
}

impl std::error::Error for IssuerMismatch {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_way_that_is_open_is_taken() {
        let check = |has_document, may_register, reads_documents, has_endpoint, expected| {
            let options = RegistrationOptions {
                pre_registered_with: None,
                has_document,
                may_register,
            };
            let mut metadata = AuthorizationServerMetadata::new("https://a");
            metadata.client_id_metadata_document_supported = reads_documents;
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
    fn credentials_are_for_one_issuer() {
        let options = RegistrationOptions {
            pre_registered_with: Some("https://a"),
            has_document: true,
            may_register: true,
        };
        let same = AuthorizationServerMetadata::new("https://a");
        assert_eq!(options.choose(&same), Ok(Registration::PreRegistered));
        for issuer in ["https://b", "https://a/", "https://A"] {
            let other = AuthorizationServerMetadata::new(issuer);
            let refused = options.choose(&other).unwrap_err();
            assert_eq!(refused.issuer, "https://a", "{issuer}");
        }
    }
}
