//! The credentials that the suite gives to a client.

use serde::Deserialize;
use toolwire_auth::client::{IdentityProvider, OAuthConfig, RegisteredClient, SigningKey};
use toolwire_auth::documents::Secret;

use crate::login::ConsentingUser;
use crate::scenarios::Problem;

/// The client ID that the suite expects of a client with a metadata document.
const CLIENT_ID_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// The credentials of a scenario. Each scenario sets some of them.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Credentials {
    client_id: Option<String>,
    client_secret: Option<Secret>,
    private_key_pem: Option<Secret>,
    /// The platform's assertion about this workload.
    valid_jwt: Option<Secret>,
    idp_client_id: Option<String>,
    idp_id_token: Option<Secret>,
    idp_issuer: Option<String>,
    idp_token_endpoint: Option<String>,
}

impl Credentials {
    /// Returns the OAuth configuration for the given credentials. Two scenarios give the same credentials for different
    /// grants, so their names decide.
    pub(crate) fn oauth(&self, scenario: &str) -> Result<OAuthConfig, Problem> {
        let Some(client) = self.registered()? else {
            let login = OAuthConfig::login("toolwire conformance", ConsentingUser);
            return Ok(login.with_client_id_document(CLIENT_ID_DOCUMENT));
        };
        if let Some(assertion) = &self.valid_jwt {
            return Ok(OAuthConfig::workload(client, assertion.clone()));
        }
        if let Some(id_token) = &self.idp_id_token {
            let issuer = self.idp_issuer.as_deref().ok_or("idp_issuer is missing")?;
            let own_id = self
                .idp_client_id
                .as_deref()
                .ok_or("idp_client_id is missing")?;
            let endpoint = self.idp_token_endpoint.as_deref();
            let endpoint = endpoint.ok_or("idp_token_endpoint is missing")?;
            let provider = IdentityProvider::new(issuer, own_id, id_token.clone());
            return Ok(OAuthConfig::enterprise(
                client,
                provider.with_token_endpoint(endpoint),
            ));
        }
        let is_without_user = scenario.starts_with("auth/client-credentials");
        Ok(if is_without_user {
            OAuthConfig::client_credentials(client)
        } else {
            OAuthConfig::login("toolwire conformance", ConsentingUser).with_client(client)
        })
    }

    fn registered(&self) -> Result<Option<RegisteredClient>, Problem> {
        let Some(id) = &self.client_id else {
            return Ok(None);
        };
        let mut client = RegisteredClient::new(id);
        if let Some(secret) = &self.client_secret {
            client = client.with_secret(secret.clone());
        }
        if let Some(pem) = &self.private_key_pem {
            client = client.with_key(SigningKey::from_pem(pem.expose())?);
        }
        Ok(Some(client))
    }
}
