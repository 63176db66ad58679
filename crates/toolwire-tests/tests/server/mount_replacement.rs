//! Mounts that are replaced at their places, and URIs that change while a request runs.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolwire::middleware::{Next, Request, from_fn_with};
use toolwire::{Catalog, ErrorObject, Mount, RawJson, RequestContext, Server, Source};
use toolwire_tests::peer::{Peer, modern, server};

/// A source with one raw resource, which responds with the URI that it gets.
struct OneUri(&'static str);

impl Source for OneUri {
    fn catalog(&self) -> Catalog {
        let mut catalog = Catalog::new();
        let descriptor = json!({ "name": "r", "uri": self.0 }).to_string();
        let descriptor = RawJson::from_string(descriptor).expect("JSON");
        catalog
            .add_raw_resource(descriptor, read_uri)
            .expect("a valid resource");
        catalog
    }
}

async fn read_uri(_: RequestContext, params: RawJson) -> Result<RawJson, ErrorObject> {
    let params: Value = params.parse().expect("an object");
    let result = json!({ "contents": [], "uri": params["uri"] }).to_string();
    Ok(RawJson::from_string(result).expect("JSON"))
}

#[tokio::test]
async fn request_reads_the_uri_that_middleware_saw() {
    type Seen = Mutex<Option<String>>;

    let outer = server().mount("a", OneUri("x://1"));
    let seen: Arc<Seen> = Arc::default();
    let middleware = from_fn_with(
        (outer.clone(), Arc::clone(&seen)),
        async |(server, seen): &(Server, Arc<Seen>), request: &mut Request, next: Next<'_>| {
            let own = request.source_name().map(str::to_owned);
            *seen.lock().expect("not poisoned") = own;
            // No other mount claims the URI any more, so the prefix of this mount has no meaning.
            server.remove_mount("a");
            next.run(request).await
        },
    );
    let mount = Mount::new("b", OneUri("x://1")).with_middleware(middleware);
    let outer = outer.mount_with(mount);
    let mut peer = Peer::connect(&outer);
    let read = modern(1, "resources/read", json!({ "uri": "b+x://1" }));
    let result = peer.result_of(read).await;
    assert_eq!(seen.lock().expect("not poisoned").as_deref(), Some("x://1"));
    assert_eq!(result["uri"], "x://1", "{result}");
    // Later requests see the change.
    let read = modern(2, "resources/read", json!({ "uri": "x://1" }));
    assert_eq!(peer.result_of(read).await["uri"], "x://1");
}
