//! The name and the path of a server card, checked when the service is created.

use toolwire_proto::server_card::{self, CardName};

use crate::server::Server;
use crate::transport::http::options::HttpOptions;

/// The name and the path of the card that an endpoint publishes.
#[derive(Debug)]
pub(crate) struct PublishedCard {
    pub(crate) name: CardName,
    pub(crate) path: String,
}

impl PublishedCard {
    /// Creates the card, if the options have one.
    ///
    /// # Panics
    /// Panics if the name of the card, the public URL or the version of the server is invalid.
    pub(crate) fn new(server: &Server, options: &HttpOptions) -> Option<Self> {
        if let Some(url) = &options.public_url {
            let checked = server_card::check_public_url(url);
            checked.unwrap_or_else(|error| panic!("HttpOptions::with_public_url: {error}"));
        }
        let name = options.server_card.as_deref()?;
        let name = CardName::parse(name)
            .unwrap_or_else(|error| panic!("HttpOptions::with_server_card: {error}"));
        let checked = server_card::check_version(&server.snapshot().info.version);
        checked.unwrap_or_else(|error| panic!("HttpOptions::with_server_card: {error}"));
        let path = server_card::card_path(&options.path);
        Some(Self { name, path })
    }
}
