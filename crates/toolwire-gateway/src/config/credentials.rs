//! `credentials` of an upstream: how the gateway identifies itself there.

use toolwire_auth::documents::Secret;

use crate::config::section::Field;
use crate::config::{ConfigError, MAX_LIST};

/// The credentials of the gateway at an upstream. Tokens of callers are never sent there.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum UpstreamCredentials {
    /// A bearer token.
    Bearer(Secret),
    /// The OAuth client credentials of the gateway.
    Client {
        /// The id of the client.
        id: String,
        /// Its secret.
        secret: Secret,
        /// The authorization server that gets the secret. An upstream that names another one gets no token.
        issuer: String,
        /// The scopes to request, separated by spaces.
        scopes: Option<String>,
    },
    /// The access token of each caller, exchanged for one of the upstream (RFC 8693). The gateway reads the lists with the
    /// client credentials of the same client.
    Exchange {
        /// The id of the client.
        id: String,
        /// Its secret.
        secret: Secret,
        /// The authorization server that gets the secret and the tokens of callers. An upstream that names another one gets
        /// no token.
        issuer: String,
        /// The scopes to request, separated by spaces.
        scopes: Option<String>,
    },
    /// The login that `toolwire login URL` stored.
    Login,
}

pub(super) fn read(field: Field<'_>) -> Result<UpstreamCredentials, ConfigError> {
    let start = field.start();
    let mut section = field.section()?;
    let (bearer, file) = (section.take("bearer"), section.take("bearer_file"));
    let (client, exchange) = (section.take("client"), section.take("exchange"));
    let login = section.take("login");
    let kinds = [&bearer, &file, &client, &exchange, &login];
    if kinds.iter().filter(|kind| kind.is_some()).count() != 1 {
        return Err(section
            .error(
                start,
                "`credentials` needs exactly one of bearer, bearer_file, client, exchange, login",
            )
            .with_advice("write credentials = { bearer = \"${TOKEN}\" }"));
    }
    let credentials = if let Some(bearer) = bearer {
        UpstreamCredentials::Bearer(bearer_token(&bearer, &bearer.text()?)?)
    } else if let Some(file) = file {
        let text = std::fs::read_to_string(file.path()?)
            .map_err(|error| file.error(format_args!("cannot be read: {error}")))?;
        UpstreamCredentials::Bearer(bearer_token(&file, text.trim())?)
    } else if let Some(client) = client {
        let (id, secret, issuer, scopes) = read_client(client, "client")?;
        UpstreamCredentials::Client {
            id,
            secret,
            issuer,
            scopes,
        }
    } else if let Some(exchange) = exchange {
        let (id, secret, issuer, scopes) = read_client(exchange, "exchange")?;
        UpstreamCredentials::Exchange {
            id,
            secret,
            issuer,
            scopes,
        }
    } else {
        let is_login = login.as_ref().map_or(Ok(false), Field::flag)?;
        if !is_login {
            return Err(section.error(start, "`credentials.login` must be true"));
        }
        UpstreamCredentials::Login
    };
    section.finish()?;
    Ok(credentials)
}

fn bearer_token(field: &Field<'_>, token: &str) -> Result<Secret, ConfigError> {
    let is_valid = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    if is_valid {
        Ok(Secret::new(token))
    } else {
        Err(field
            .error("is not a bearer token: it is empty, or has characters besides visible ASCII"))
    }
}

/// The id, the secret, the issuer and the scopes of a client.
type ClientKeys = (String, Secret, String, Option<String>);

fn read_client(field: Field<'_>, key: &str) -> Result<ClientKeys, ConfigError> {
    let start = field.start();
    let mut section = field.section()?;
    let (id, secret) = (section.take("id"), section.take("secret"));
    let issuer = section.take("issuer");
    let scopes = section.take("scopes").map(|field| field.texts(MAX_LIST));
    let (Some(id), Some(secret), Some(issuer)) = (id, secret, issuer) else {
        return Err(section
            .error(
                start,
                format!("`credentials.{key}` needs `id`, `secret` and `issuer`"),
            )
            .with_advice("write the authorization server that may get the secret as `issuer`"));
    };
    let client = (
        id.text()?,
        secret.text()?.into(),
        issuer.text()?,
        scopes.transpose()?.map(|scopes| scopes.join(" ")),
    );
    section.finish()?;
    Ok(client)
}
