//! Finds the servers of a domain: reads its catalog, and then the server cards that the catalog lists (SEP-2127, a draft).
//!
//! The documents are public, so no credentials are sent. Cards are not verified: they only say where to connect. A card
//! on another host than its catalog is fetched from public addresses only.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::header::{ACCEPT, USER_AGENT};
use hyper::{Request, StatusCode};
use serde_json::json;
use toolwire::transport::http_client::{HttpClient, HyperClient};
use toolwire::types::server_card::{CARD_MEDIA_TYPE, CATALOG_MEDIA_TYPE, CATALOG_PATH, ServerCard};
use toolwire_proto::server_card::InvalidCard;
use toolwire_proto::server_card::read::{
    self, CardAddresses, CardSource, ListedCards, MAX_CARD_BYTES, MAX_CATALOG_BYTES,
};
use toolwire_proto::web_url::WebUrl;

use crate::certificates;
use crate::connection_arguments::Server;
use crate::failure::{Exit, Failure};
use crate::screen::Screen;
use crate::shell_words::command_line;
use crate::{server_files, server_hints, show};

/// The default time for all documents. `--timeout` changes it.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum time for one document.
const DOCUMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// The number of cards that are read at the same time.
const PARALLEL_CARDS: usize = 8;

/// A domain whose servers are to be found.
#[derive(Debug)]
pub(crate) struct Domain {
    /// The domain as the user wrote it, possibly with a port.
    name: String,
    /// The scheme and the domain.
    origin: String,
    catalog_url: String,
}

impl Domain {
    /// Returns the domain that the command line names instead of a server. A server of this name in a configuration
    /// file takes precedence.
    pub(crate) fn of(server: &Server) -> Result<Option<Self>, Failure> {
        let [name] = server.words.as_slice() else {
            return Ok(None);
        };
        let is_domain = server.command.is_empty() && server_hints::is_host(name);
        if !is_domain || server_files::contains(name, &server.lookup)? {
            return Ok(None);
        }
        let has_credentials = server.login
            || server.bearer_env.is_some()
            || !server.headers.is_empty()
            || !server.environment.is_empty()
            || server.inherit_env;
        if has_credentials {
            return Err(Failure::usage(format!(
                "`{name}` is a domain, and its catalog is read without credentials"
            ))
            .with_advice(format!(
                "remove --header, --bearer-env, --login and --env, or give the address of a server: https://{name}/mcp"
            )));
        }
        // Without a certificate option, a server on this machine has no TLS.
        let has_tls = server.tls.insecure || server.tls.cacert.is_some();
        let is_local = WebUrl::parse(&format!("http://{name}/")).is_ok_and(|url| url.is_loopback());
        let scheme = if is_local && !has_tls {
            "http"
        } else {
            "https"
        };
        let origin = format!("{scheme}://{name}");
        Ok(Some(Self {
            catalog_url: format!("{origin}{CATALOG_PATH}"),
            name: name.clone(),
            origin,
        }))
    }

    /// Reads the catalog and the cards, and lists the servers.
    pub(crate) async fn discover(&self, server: &Server, screen: &Screen) -> Result<Exit, Failure> {
        let http = certificates::http_client(&server.tls, screen)?;
        let public = certificates::another_http_client(&server.tls)?;
        let public = public.unwrap_or_else(HyperClient::new);
        let documents = Documents {
            http: Arc::new(http.unwrap_or_else(HyperClient::new)),
            public: Arc::new(public.with_public_addresses_only()),
            end: Instant::now().checked_add(server.timeout.unwrap_or(TOTAL_TIMEOUT)),
        };
        let listed = self.catalog(&documents).await?;
        let left_out = listed.left_out;
        let mut found = DomainServers::default();
        let mut cards = listed.cards.into_iter().peekable();
        while cards.peek().is_some() {
            let reading: Vec<_> = cards
                .by_ref()
                .take(PARALLEL_CARDS)
                .map(|(identifier, source)| {
                    let reading = tokio::spawn(self.card(source, &documents));
                    (identifier, reading)
                })
                .collect();
            for (identifier, reading) in reading {
                let outcome = reading.await;
                let outcome = outcome.unwrap_or_else(|error| Err(error.to_string()));
                found.add(identifier, outcome);
            }
        }
        self.report(&found, left_out, screen)
    }

    async fn catalog(&self, documents: &Documents) -> Result<ListedCards, Failure> {
        let url = &self.catalog_url;
        let advice = format!(
            "if you know the address of a server, give it: toolwire discover {}/mcp",
            self.origin
        );
        let document = documents.get(
            url,
            CATALOG_MEDIA_TYPE,
            MAX_CATALOG_BYTES,
            CardAddresses::Any,
        );
        let document = document.await.map_err(|failure| {
            let context = format!("{} has no readable catalog: ", self.name);
            failure.with_context(&context).with_default_advice(&advice)
        })?;
        read::catalog(&document).map_err(|error| {
            let message = format!("{} has no catalog: {url}: {error}", self.name);
            Failure::new(Exit::Protocol, message).with_advice(advice)
        })
    }

    /// Returns the reading of one card.
    fn card(
        &self,
        source: Result<CardSource, InvalidCard>,
        documents: &Documents,
    ) -> impl Future<Output = Result<DomainServer, String>> + Send + use<> {
        let (catalog_url, documents) = (self.catalog_url.clone(), documents.clone());
        async move {
            let url = match source.map_err(|error| error.to_string())? {
                CardSource::Inline(card) => {
                    return Ok(DomainServer {
                        url: None,
                        card: *card,
                    });
                }
                CardSource::Url(url) => url,
            };
            let catalog = WebUrl::parse(&catalog_url).map_err(|error| error.to_string())?;
            let addresses = read::card_addresses(&catalog, &url);
            let addresses = addresses.map_err(|error| error.to_string())?;
            let document = documents.get(&url, CARD_MEDIA_TYPE, MAX_CARD_BYTES, addresses);
            let document = document
                .await
                .map_err(|failure| failure.message().to_owned())?;
            let card = read::card(&document).map_err(|error| format!("{url}: {error}"))?;
            Ok(DomainServer {
                url: Some(url),
                card,
            })
        }
    }

    fn report(
        &self,
        found: &DomainServers,
        left_out: usize,
        screen: &Screen,
    ) -> Result<Exit, Failure> {
        let name = &self.name;
        if found.servers.is_empty() && !found.faults.is_empty() {
            let lines = found.faults.iter().map(Fault::line).collect::<Vec<_>>();
            return Err(Failure::new(
                Exit::Protocol,
                format!("no server card in the catalog of {name} can be used"),
            )
            .with_details(lines.join("\n")));
        }
        if screen.json {
            screen.print_json(&self.json(found, left_out))?;
            return Ok(Exit::Success);
        }
        for fault in &found.faults {
            screen.warn(&fault.line());
        }
        if left_out > 0 {
            screen.warn(&format!(
                "{left_out} more server cards of {name} were not read"
            ));
        }
        let cards: Vec<_> = found
            .servers
            .iter()
            .map(|(_, server)| &server.card)
            .collect();
        screen.print(&show::server_cards(&cards, screen.style))?;
        if cards.is_empty() {
            screen.show_line(&format!("the catalog of {name} lists no MCP servers"));
        }
        let mut urls = cards
            .iter()
            .flat_map(|card| &card.remotes)
            .map(|remote| &remote.url);
        // A client cannot connect to a URL with variables. The quotes are for URLs that a shell would interpret.
        if let Some(url) = urls.find(|url| WebUrl::parse(url).is_ok()) {
            let command = command_line(["toolwire", "tools", url.as_str()]);
            screen.show_line(&format!("connect with: {command}"));
        }
        Ok(Exit::Success)
    }

    fn json(&self, found: &DomainServers, left_out: usize) -> serde_json::Value {
        let servers = found.servers.iter().map(|(identifier, server)| {
            json!({"identifier": identifier, "cardUrl": server.url, "card": server.card})
        });
        let faults = found
            .faults
            .iter()
            .map(|fault| json!({"identifier": fault.identifier, "reason": fault.reason}));
        json!({
            "catalog": self.catalog_url,
            "servers": servers.collect::<Vec<_>>(),
            "faults": faults.collect::<Vec<_>>(),
            "leftOut": left_out,
        })
    }
}

/// The servers of a domain, and the entries of its catalog that cannot be used.
#[derive(Debug, Default)]
struct DomainServers {
    /// The servers with their ids in the catalog.
    servers: Vec<(String, DomainServer)>,
    faults: Vec<Fault>,
}

impl DomainServers {
    fn add(&mut self, identifier: String, outcome: Result<DomainServer, String>) {
        match outcome {
            Ok(server) => self.servers.push((identifier, server)),
            Err(reason) => self.faults.push(Fault { identifier, reason }),
        }
    }
}

/// A server with its card.
#[derive(Debug)]
struct DomainServer {
    /// The URL of the card, unless the catalog contains the card.
    url: Option<String>,
    card: ServerCard,
}

/// An entry of a catalog that cannot be used.
#[derive(Debug)]
struct Fault {
    identifier: String,
    reason: String,
}

impl Fault {
    fn line(&self) -> String {
        format!("{}: {}", self.identifier, self.reason)
    }
}

/// Reads public documents until a deadline.
#[derive(Debug, Clone)]
struct Documents {
    http: Arc<HyperClient>,
    /// Connects to public addresses only.
    public: Arc<HyperClient>,
    /// `None` is so far away that it does not matter.
    end: Option<Instant>,
}

impl Documents {
    async fn get(
        &self,
        url: &str,
        media_type: &str,
        max_bytes: usize,
        addresses: CardAddresses,
    ) -> Result<Bytes, Failure> {
        let http = match addresses {
            CardAddresses::Any => &self.http,
            CardAddresses::PublicOnly => &self.public,
        };
        let request = Request::get(url)
            .header(ACCEPT, format!("{media_type}, application/json;q=0.5"))
            .header(USER_AGENT, concat!("toolwire/", env!("CARGO_PKG_VERSION")))
            .body(Bytes::new())
            .map_err(|error| Failure::usage(format!("{url} cannot be requested: {error}")))?;
        let exchange = async {
            let response = http.send(request).await;
            let response = response.map_err(|error| Failure::of_http(&error))?;
            let status = response.status();
            if status != StatusCode::OK {
                let message = format!("{url} responded with {status}");
                return Err(Failure::new(Exit::Protocol, message));
            }
            let body = response.into_body().collect(max_bytes).await;
            body.map_err(|error| Failure::of_http(&error).with_context(&format!("{url}: ")))
        };
        let remaining = self.end.map_or(DOCUMENT_TIMEOUT, |end| {
            end.saturating_duration_since(Instant::now())
        });
        let timeout = tokio::time::timeout(remaining.min(DOCUMENT_TIMEOUT), exchange);
        timeout.await.unwrap_or_else(|_| {
            let message = format!("{url} did not respond in time");
            Err(Failure::new(Exit::Timeout, message).with_advice("allow more time with --timeout"))
        })
    }
}
