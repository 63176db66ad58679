//! What an upstream must not cause: requests to other hosts, and commands of a shell.

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use toolwire::{Catalog, ErrorObject, Mount, RawJson, Source};

use super::*;

/// An address that counts its connections, and responds to each with the same bytes.
struct CountingAddress {
    origin: String,
    connections: Arc<AtomicUsize>,
    serving: AbortHandle,
}

impl CountingAddress {
    async fn start(response: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let connections = Arc::<AtomicUsize>::default();
        let counter = Arc::clone(&connections);
        let serving = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::Relaxed);
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(response.as_bytes()).await;
            }
        });
        Self {
            origin: format!("http://{address}"),
            connections,
            serving: serving.abort_handle(),
        }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Drop for CountingAddress {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A tool, a prompt and a resource that name URLs wherever a descriptor and a result can have some.
struct UrlsEverywhere {
    origin: String,
}

impl Source for UrlsEverywhere {
    fn catalog(&self) -> Catalog {
        let url = format!("{}/x", self.origin);
        let icons = json!([{ "src": url, "mimeType": "image/png" }]);
        let schema =
            json!({ "type": "object", "$schema": url, "properties": { "a": { "$ref": url } } });
        let content = json!([
            { "type": "resource_link", "uri": url, "name": "r" },
            { "type": "resource", "resource": { "uri": url, "text": url } },
        ]);
        let result =
            RawJson::from(json!({ "content": content, "structuredContent": { "a": url } }));
        let handler = move |_: RequestContext, _: RawJson| {
            let result = result.clone();
            async move { Ok::<RawJson, ErrorObject>(result) }
        };
        let tool = json!({ "name": "look", "icons": icons, "inputSchema": schema, "outputSchema": schema });
        let prompt = json!({ "name": "write", "icons": icons });
        let resource = json!({ "uri": url, "name": "r", "icons": icons });
        let mut catalog = Catalog::new();
        let added = [
            catalog.add_raw_tool(RawJson::from(tool), handler.clone()),
            catalog.add_raw_prompt(RawJson::from(prompt), handler.clone()),
            catalog.add_raw_resource(RawJson::from(resource), handler),
        ];
        assert!(added.iter().all(Result::is_ok), "{added:?}");
        catalog
    }
}

#[tokio::test]
async fn texts_and_redirects_of_an_upstream_cause_no_request() {
    let scratch = Scratch::new("gateway");
    let named = CountingAddress::start(String::new()).await;
    let source = UrlsEverywhere {
        origin: named.origin.clone(),
    };
    let mount = Mount::new("all", source).without_prefix();
    let upstream = TestUpstream::start(Server::new("upstream", "1.0.0").mount_with(mount)).await;
    let moved = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: {}/mcp\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        named.origin
    );
    let moved = CountingAddress::start(moved).await;
    let text = table("files", &upstream, "pin = \"ask\"\nstrip_invisible = true")
        + &format!("[upstream.moved]\nurl = \"{}/mcp\"\n", moved.origin);
    let gateway = start(&scratch, &text).await;
    let client = client(&gateway).await;
    assert_eq!(tools(&client).await, ["files_look"]);
    let calling = client.call_tool("files_look", json!({ "a": "b" }));
    let result = within(calling.into_future()).await;
    assert!(result.is_ok(), "{result:?}");
    let report = gateway.report().await;
    assert!(report.upstreams[1].problem.is_some(), "{report:?}");
    assert!(moved.connections() > 0);
    assert_eq!(named.connections(), 0);
    gateway.close().await;
}

#[cfg(unix)]
#[tokio::test]
async fn commands_are_not_run_by_a_shell() {
    let scratch = Scratch::new("gateway");
    let created = scratch.path("created");
    let touch = format!("touch {}", created.display());
    let (substituted, appended) = (format!("$({touch})"), format!("; {touch}"));
    let commands = [
        format!("[{:?}]", format!("true{appended}")),
        format!("[\"true\", {substituted:?}, {appended:?}]"),
        format!("[\"true\", \"a\\n{touch}\\n\"]"),
    ];
    let tables = commands.iter().enumerate();
    let tables =
        tables.map(|(number, command)| format!("[upstream.u{number}]\ncommand = {command}\n"));
    let gateway = start(&scratch, &tables.collect::<String>()).await;
    let report = gateway.report().await;
    assert_eq!(report.upstreams.len(), commands.len());
    for upstream in report.upstreams {
        assert!(upstream.problem.is_some(), "{upstream:?}");
    }
    assert!(!created.exists());
    gateway.close().await;
}
