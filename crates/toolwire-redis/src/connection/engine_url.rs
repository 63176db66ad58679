//! The URL of an engine.

use crate::ConnectError;

/// The port of an engine if the URL has none.
const ENGINE_PORT: u16 = 6379;

/// The port of a sentinel if the URL has none.
const SENTINEL_PORT: u16 = 26379;

/// The maximum number of servers in a URL.
const MAX_SERVERS: usize = 64;

/// A parsed URL of an engine.
///
/// | URL | engine |
/// |---|---|
/// | `redis://host:port/database`, `redis+unix:///path` | one server |
/// | `redis+sentinel://host:port,host:port/service/database` | the primary that sentinels know |
/// | `redis+cluster://host:port,host:port` | a cluster |
///
/// With `rediss` instead of `redis`, connections are encrypted. `user:password@` may precede the hosts.
pub(crate) struct EngineUrl {
    pub(crate) topology: Topology,
    pub(crate) is_encrypted: bool,
    /// `user:password@`, or empty.
    login: String,
    /// The hosts and ports. A single server has its whole URL instead.
    hosts: Vec<String>,
    /// The database and the query, with what separates them from the hosts.
    rest: String,
}

/// The kind of an engine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Topology {
    Server,
    Sentinel {
        /// The name by which the sentinels know the primary.
        service: String,
    },
    Cluster,
}

impl EngineUrl {
    pub(crate) fn parse(url: &str) -> Result<Self, ConnectError> {
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| invalid("it has no scheme"))?;
        let is_encrypted = scheme == "rediss" || scheme.starts_with("rediss+");
        if is_encrypted && !cfg!(feature = "tls") {
            return Err(invalid(
                "encrypted connections need the feature `tls` of toolwire-redis",
            ));
        }
        let kind = scheme.split_once('+').map(|(_, kind)| kind);
        if !matches!(kind, Some("sentinel" | "cluster")) {
            return Ok(Self {
                topology: Topology::Server,
                is_encrypted,
                login: String::new(),
                hosts: vec![url.to_owned()],
                rest: String::new(),
            });
        }
        // A password may contain every character in its encoded form, so the last `@` ends it.
        let authority_end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(authority_end);
        let (login, hosts) = match authority.rsplit_once('@') {
            Some((login, hosts)) => (format!("{login}@"), hosts),
            None => (String::new(), authority),
        };
        let hosts: Vec<String> = hosts.split(',').map(str::to_owned).collect();
        if hosts.len() > MAX_SERVERS || hosts.iter().any(String::is_empty) {
            return Err(invalid("write 1 to 64 hosts, separated by commas"));
        }
        let mut parsed = Self {
            topology: Topology::Cluster,
            is_encrypted,
            login,
            hosts,
            rest: path.to_owned(),
        };
        if kind == Some("sentinel") {
            let path = path.strip_prefix('/').unwrap_or_default();
            let service_end = path.find(['/', '?']).unwrap_or(path.len());
            let (service, rest) = path.split_at(service_end);
            if service.is_empty() {
                return Err(invalid(
                    "the name of the service is missing: redis+sentinel://host:port/service",
                ));
            }
            parsed.topology = Topology::Sentinel {
                service: service.to_owned(),
            };
            parsed.rest = rest.to_owned();
        }
        Ok(parsed)
    }

    /// Returns the URLs of the servers that the URL names. Those of sentinels have the login of the engine.
    pub(crate) fn servers(&self) -> Vec<String> {
        if self.topology == Topology::Server {
            return self.hosts.clone();
        }
        let hosts = self.hosts.iter();
        hosts.map(|host| self.server(host)).collect()
    }

    pub(crate) fn first_server(&self) -> String {
        self.servers().into_iter().next().unwrap_or_default()
    }

    /// Returns the URLs of the sentinels.
    pub(crate) fn sentinels(&self, password: Option<&str>) -> Vec<String> {
        let login = password.map_or_else(String::new, |password| format!(":{}@", encode(password)));
        let scheme = self.scheme();
        let hosts = self.hosts.iter();
        hosts
            .map(|host| format!("{scheme}://{login}{}", with_port(host, SENTINEL_PORT)))
            .collect()
    }

    /// Returns the URL of another server with the same login and database.
    pub(crate) fn server_at(&self, host: &str, port: u16) -> String {
        if host.contains(':') {
            self.server(&format!("[{host}]:{port}"))
        } else {
            self.server(&format!("{host}:{port}"))
        }
    }

    fn server(&self, host: &str) -> String {
        let (scheme, host) = (self.scheme(), with_port(host, ENGINE_PORT));
        format!("{scheme}://{}{host}{}", self.login, self.rest)
    }

    fn scheme(&self) -> &'static str {
        if self.is_encrypted { "rediss" } else { "redis" }
    }
}

/// Returns a host with its port.
fn with_port(host: &str, port: u16) -> String {
    let after_address = host.rsplit(']').next().unwrap_or(host);
    if after_address.contains(':') {
        host.to_owned()
    } else {
        format!("{host}:{port}")
    }
}

/// Encodes a password for a URL.
fn encode(password: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    password.bytes().map(encode).collect()
}

fn invalid(reason: &str) -> ConnectError {
    ConnectError::InvalidUrl(reason.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> EngineUrl {
        EngineUrl::parse(url).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn url_of_one_server_is_unchanged() {
        for url in [
            "redis://a:1/2?protocol=resp3",
            "redis+unix:///a,b@c",
            "http://a",
        ] {
            assert_eq!(parse(url).servers(), [url]);
            assert_eq!(parse(url).topology, Topology::Server);
        }
    }

    #[test]
    fn cluster_has_several_servers() {
        let url = parse("redis+cluster://me:p%40s@a:1,b,[::1]:2,[::1]/?protocol=resp3");
        assert_eq!(url.topology, Topology::Cluster);
        assert_eq!(
            url.servers(),
            [
                "redis://me:p%40s@a:1/?protocol=resp3",
                "redis://me:p%40s@b:6379/?protocol=resp3",
                "redis://me:p%40s@[::1]:2/?protocol=resp3",
                "redis://me:p%40s@[::1]:6379/?protocol=resp3",
            ]
        );
    }

    #[test]
    fn query_may_follow_the_hosts() {
        let url = parse("redis+cluster://a:1,b:2?protocol=resp3");
        assert_eq!(
            url.servers(),
            ["redis://a:1?protocol=resp3", "redis://b:2?protocol=resp3"]
        );
    }

    #[test]
    fn sentinels_do_not_get_the_login_of_the_engine() {
        let url = parse("redis+sentinel://:secret@a,b:1/main/3");
        let service = "main".to_owned();
        assert_eq!(url.topology, Topology::Sentinel { service });
        assert_eq!(url.sentinels(None), ["redis://a:26379", "redis://b:1"]);
        let [first, _] = url.sentinels(Some("x/y")).try_into().unwrap();
        assert_eq!(first, "redis://:x%2Fy@a:26379");
        assert_eq!(url.server_at("::1", 4), "redis://:secret@[::1]:4/3");
        assert_eq!(url.server_at("c", 4), "redis://:secret@c:4/3");
    }

    #[cfg(feature = "tls")]
    #[test]
    fn encrypted_url_has_encrypted_servers() {
        let url = parse("rediss+sentinel://a/main");
        assert_eq!(url.sentinels(None), ["rediss://a:26379"]);
        assert_eq!(url.server_at("b", 1), "rediss://b:1");
        assert!(parse("rediss://a").is_encrypted);
        assert_eq!(parse("rediss+cluster://a").servers(), ["rediss://a:6379"]);
    }

    #[test]
    fn invalid_url_is_rejected_with_the_reason() {
        for (url, reason) in [
            ("host:6379", "it has no scheme"),
            ("redis+cluster://", "write 1 to 64 hosts"),
            ("redis+cluster://a,,b", "write 1 to 64 hosts"),
            ("redis+sentinel://a:1", "the name of the service is missing"),
            (
                "redis+sentinel://a:1//2",
                "the name of the service is missing",
            ),
        ] {
            let error = EngineUrl::parse(url).err().map(|error| error.to_string());
            assert!(
                error.as_ref().is_some_and(|text| text.contains(reason)),
                "{url}: {error:?}"
            );
        }
        let many = |count| format!("redis+cluster://{}", vec!["a"; count].join(","));
        assert!(EngineUrl::parse(&many(64)).is_ok());
        assert!(EngineUrl::parse(&many(65)).is_err());
    }
}
