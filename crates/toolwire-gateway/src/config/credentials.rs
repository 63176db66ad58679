//! `credentials` of an upstream: how the gateway identifies itself there.

use toolwire::ScopeSet;
use toolwire_auth::documents::Secret;

use crate::config::section::{Field, Section};
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
        /// The identity provider of an enterprise that gets the tokens of callers instead. The authorization server gets its
        /// assertion.
        provider: Option<AssertionProvider>,
    },
    /// The login that `toolwire login URL` stored.
    Login,
    /// The login of each user of the gateway, in a browser. The gateway reads the lists with the login of one of them.
    UserLogin {
        /// The registration of the gateway at the authorization server. `None`: the gateway registers itself.
        client: Option<LoginClient>,
        /// The scopes to request, separated by spaces.
        scopes: Option<String>,
    },
}

/// An identity provider that exchanges the tokens of callers for assertions (ID-JAG, extension enterprise-managed
/// authorization).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AssertionProvider {
    /// The issuer of the tokens of callers.
    pub issuer: String,
    /// The id of the gateway at the provider.
    pub id: String,
    /// Its secret.
    pub secret: Secret,
    /// `true` if callers send ID tokens, `false` if they send access tokens.
    pub has_id_tokens: bool,
}

/// The registration of a gateway at the authorization server at which its users log in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginClient {
    /// The id of the client.
    pub id: String,
    /// Its secret. `None` for a public client.
    pub secret: Option<Secret>,
    /// The authorization server that knows the client. An upstream that names another one gets no token.
    pub issuer: String,
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
        let start = client.start();
        let mut section = client.section()?;
        let (id, secret, issuer) = read_client(&mut section, start, "client")?;
        let scopes = read_scopes(&mut section)?;
        section.finish()?;
        UpstreamCredentials::Client {
            id,
            secret,
            issuer,
            scopes,
        }
    } else if let Some(exchange) = exchange {
        read_exchange(exchange)?
    } else {
        match login {
            Some(login) if login.is_table() => read_login(login)?,
            Some(login) if login.flag()? => UpstreamCredentials::Login,
            _ => {
                let message = "`credentials.login` must be true, or a table";
                return Err(section
                    .error(start, message)
                    .with_advice("write login = {} to let each user log in"));
            }
        }
    };
    section.finish()?;
    Ok(credentials)
}

fn read_login(field: Field<'_>) -> Result<UpstreamCredentials, ConfigError> {
    let start = field.start();
    let mut section = field.section()?;
    let (id, secret) = (section.take("id"), section.take("secret"));
    let issuer = section.take("issuer");
    let client = match (id, issuer) {
        (Some(id), Some(issuer)) => Some(LoginClient {
            id: id.text()?,
            secret: secret
                .map(|secret| secret.text())
                .transpose()?
                .map(Secret::from),
            issuer: issuer.text()?,
        }),
        (None, None) if secret.is_none() => None,
        _ => {
            let message =
                "`credentials.login` needs `id` and `issuer` together, and `secret` only with them";
            return Err(section
                .error(start, message)
                .with_advice("write the authorization server that knows the client as `issuer`"));
        }
    };
    let scopes = read_scopes(&mut section)?;
    section.finish()?;
    Ok(UpstreamCredentials::UserLogin { client, scopes })
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

fn read_scopes(section: &mut Section<'_>) -> Result<Option<String>, ConfigError> {
    let Some(field) = section.take("scopes") else {
        return Ok(None);
    };
    let invalid = field.error("has a scope that is not valid");
    let scopes = field.texts(MAX_LIST)?.join(" ");
    ScopeSet::parse(&scopes).map_err(|_| invalid)?;
    Ok(Some(scopes))
}

/// The id, the secret and the issuer of a client.
type ClientKeys = (String, Secret, String);

fn read_client(
    section: &mut Section<'_>,
    start: usize,
    key: &str,
) -> Result<ClientKeys, ConfigError> {
    let (id, secret) = (section.take("id"), section.take("secret"));
    let issuer = section.take("issuer");
    let (Some(id), Some(secret), Some(issuer)) = (id, secret, issuer) else {
        return Err(section
            .error(
                start,
                format!("`credentials.{key}` needs `id`, `secret` and `issuer`"),
            )
            .with_advice("write the authorization server that may get the secret as `issuer`"));
    };
    Ok((id.text()?, secret.text()?.into(), issuer.text()?))
}

fn read_exchange(field: Field<'_>) -> Result<UpstreamCredentials, ConfigError> {
    let start = field.start();
    let mut section = field.section()?;
    let (id, secret, issuer) = read_client(&mut section, start, "exchange")?;
    let scopes = read_scopes(&mut section)?;
    let provider = section.take("provider").map(read_provider).transpose()?;
    section.finish()?;
    Ok(UpstreamCredentials::Exchange {
        id,
        secret,
        issuer,
        scopes,
        provider,
    })
}

fn read_provider(field: Field<'_>) -> Result<AssertionProvider, ConfigError> {
    let start = field.start();
    let mut section = field.section()?;
    let (id, secret, issuer) = read_client(&mut section, start, "exchange.provider")?;
    let has_id_tokens = match section.take("token") {
        Some(field) => match field.text()?.as_str() {
            "id_token" => true,
            "access_token" => false,
            _ => return Err(field.error("must be \"access_token\" or \"id_token\"")),
        },
        None => false,
    };
    section.finish()?;
    Ok(AssertionProvider {
        issuer,
        id,
        secret,
        has_id_tokens,
    })
}
