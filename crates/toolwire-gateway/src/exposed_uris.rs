//! Finds the upstream of a resource by its URI.

use std::sync::Arc;

use toolwire_proto::relay::uris::UriTable;

use crate::entries::EntryTable;

/// The URIs of all upstreams of a server, in the order of its mounts. A URI that two upstreams claim has a prefix for the
/// later one.
#[derive(Debug, Default)]
pub(crate) struct ResourceRoutes {
    tables: Vec<Arc<EntryTable>>,
    uris: UriTable,
}

impl ResourceRoutes {
    pub(crate) fn new(tables: Vec<Arc<EntryTable>>) -> Self {
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

    /// Returns `true` if the routes were made of these tables.
    pub(crate) fn is_of(&self, tables: &[Arc<EntryTable>]) -> bool {
        let mut pairs = self.tables.iter().zip(tables);
        self.tables.len() == tables.len() && pairs.all(|(one, other)| Arc::ptr_eq(one, other))
    }

    /// Returns the index of the upstream of a URI, and its URI there.
    pub(crate) fn resolve(&self, exposed: &str) -> Option<(usize, String)> {
        let (source, uri) = self.uris.resolve(exposed)?;
        Some((source, uri.into_owned()))
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
    fn prefixed_uris_belong_to_the_later_upstream() {
        let tables = vec![
            table("one", &["a:x"], &["f:{p}"]),
            table("two", &["a:x", "b:y"], &["f:{p}"]),
        ];
        let routes = ResourceRoutes::new(tables.clone());
        assert!(routes.is_of(&tables) && !routes.is_of(&tables[..1]));
        let check = |uri: &str, expected: Option<(usize, &str)>| {
            let found = routes.resolve(uri);
            let found = found.as_ref().map(|(source, uri)| (*source, uri.as_str()));
            assert_eq!(found, expected, "{uri}");
        };
        check("a:x", Some((0, "a:x")));
        check("two+a:x", Some((1, "a:x")));
        check("b:y", Some((1, "b:y")));
        check("f:q", Some((0, "f:q")));
        check("two+f:q", Some((1, "f:q")));
        check("c:z", None);
    }
}
