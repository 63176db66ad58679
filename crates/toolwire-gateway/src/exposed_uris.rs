//! The URIs under which the main address exposes the resources of the upstreams, for rules that name them.

use std::sync::{Arc, Mutex};

use toolwire_proto::relay::uris::UriTable;

use crate::entries::EntryTable;
use crate::source::GatewaySource;
use crate::sync::lock;

/// The exposed URIs of all upstreams. A URI that two upstreams claim has a prefix for the later one.
#[derive(Default)]
pub(crate) struct ExposedUris {
    /// The upstreams in the order of their mounts.
    sources: Mutex<Arc<[GatewaySource]>>,
    /// The names of the last use.
    current: Mutex<Arc<UriNames>>,
}

impl ExposedUris {
    /// Replaces the upstreams.
    pub(crate) fn set_sources(&self, sources: impl IntoIterator<Item = GatewaySource>) {
        *lock(&self.sources) = sources.into_iter().collect();
    }

    /// Returns the upstreams.
    pub(crate) fn sources(&self) -> Arc<[GatewaySource]> {
        Arc::clone(&lock(&self.sources))
    }

    /// Returns the URI under which the main address exposes a resource or template of an upstream.
    pub(crate) fn exposed(&self, source: &GatewaySource, uri: &str) -> String {
        let sources = self.sources();
        let names = {
            let mut current = lock(&self.current);
            if !current.is_of(sources.iter().map(GatewaySource::table)) {
                let tables = sources.iter().map(GatewaySource::table);
                *current = Arc::new(UriNames::new(tables.collect()));
            }
            Arc::clone(&current)
        };
        match sources.iter().position(|known| known.is(source)) {
            Some(position) => names.exposed(position, uri),
            None => uri.to_owned(),
        }
    }
}

/// The exposed URIs of the entries that upstreams had at one time.
#[derive(Debug, Default)]
struct UriNames {
    tables: Vec<Arc<EntryTable>>,
    uris: UriTable,
}

impl UriNames {
    fn new(tables: Vec<Arc<EntryTable>>) -> Self {
        let mut uris = UriTable::new();
        for table in &tables {
            uris.add_source(table.upstream());
        }
        for (source, table) in tables.iter().enumerate() {
            for uri in table.resources() {
                uris.add_uri(source, uri);
            }
            for template in table.templates() {
                uris.add_template(source, template);
            }
        }
        Self { tables, uris }
    }

    /// Returns `true` if the names were made of these tables.
    fn is_of(&self, tables: impl ExactSizeIterator<Item = Arc<EntryTable>>) -> bool {
        let is_same_length = self.tables.len() == tables.len();
        let mut pairs = self.tables.iter().zip(tables);
        is_same_length && pairs.all(|(one, other)| Arc::ptr_eq(one, &other))
    }

    fn exposed(&self, source: usize, uri: &str) -> String {
        if self.tables[source].has_template(uri) {
            return self.uris.exposed_template(source, uri).into_owned();
        }
        self.uris.exposed(source, uri).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use toolwire::{Catalog, ErrorObject, RawJson, RequestContext};

    use super::*;

    fn table(name: &str, uris: &[&str], templates: &[&str]) -> Arc<EntryTable> {
        let handler = async |_: RequestContext, _: RawJson| Err(ErrorObject::internal("unused"));
        let json = |text: String| RawJson::from_string(text).unwrap();
        let mut catalog = Catalog::new();
        for uri in uris {
            let resource = json(format!(r#"{{"name":"r","uri":"{uri}"}}"#));
            catalog.add_raw_resource(resource, handler).unwrap();
        }
        for template in templates {
            let template = json(format!(r#"{{"name":"t","uriTemplate":"{template}"}}"#));
            catalog
                .add_raw_resource_template(template, handler)
                .unwrap();
        }
        Arc::new(EntryTable::new(name, Some(name), &catalog))
    }

    #[test]
    fn uri_of_two_upstreams_has_a_prefix_for_the_later_one() {
        let tables = vec![
            table("one", &["a:1"], &["a:{x}"]),
            table("other", &["a:1", "b:1"], &["a:{x}", "b:{y}"]),
        ];
        let names = UriNames::new(tables.clone());
        assert!(names.is_of(tables.iter().cloned()));
        assert!(!names.is_of(tables[..1].iter().cloned()));
        let check = |source: usize, uri: &str, expected: &str| {
            assert_eq!(names.exposed(source, uri), expected);
        };
        check(0, "a:1", "a:1");
        check(0, "a:{x}", "a:{x}");
        check(1, "a:1", "other+a:1");
        check(1, "a:2", "other+a:2");
        check(1, "a:{x}", "other+a:{x}");
        check(1, "b:1", "b:1");
        check(1, "b:2", "b:2");
    }
}
