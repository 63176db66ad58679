//! Rules about resources that are read through a template.

use serde_json::{Value, json};
use toolwire::middleware::{Policy, PolicyRule};
use toolwire::{
    Caller, Catalog, ErrorObject, Mount, RawJson, RequestContext, ResourceHandler,
    ResourceTemplateHandler, Server, Source,
};
use toolwire_tests::peer::{Peer, modern, server};

/// A source with the raw template `x://{id}`. Two mounts of it claim the same URIs.
struct Raw;

impl Source for Raw {
    fn catalog(&self) -> Catalog {
        let mut catalog = Catalog::new();
        let template = json!({"uriTemplate": "x://{id}", "name": "x"});
        let read = |_: RequestContext, params: RawJson| async move {
            let params: Value = params.parse().expect("an object");
            let contents = json!([{"uri": params["uri"], "text": "t"}]);
            Ok::<_, ErrorObject>(RawJson::from_value(&json!({ "contents": contents })))
        };
        let added = catalog.add_raw_resource_template(RawJson::from_value(&template), read);
        added.expect("a valid template");
        catalog
    }
}

/// Returns a server whose second mount has the prefix `b+` for its URIs.
fn two_mounts(second: Mount) -> Server {
    server().mount_with(Mount::new("a", Raw)).mount_with(second)
}

fn deny(pattern: &str) -> Policy {
    let rules = json!([{"deny": {"tool": pattern}}]);
    let rules: Vec<PolicyRule> = serde_json::from_value(rules).expect("valid rules");
    Policy::new(rules).expect("a valid policy")
}

/// Checks which of the URIs a client can read. The others do not exist for it.
async fn check(server: &Server, readable: &[&str], unknown: &[&str]) {
    let mut peer = Peer::connect(server);
    let read = |uri: &str| modern(1, "resources/read", json!({ "uri": uri }));
    for uri in readable {
        let result = peer.result_of(read(uri)).await;
        assert_eq!(result["contents"][0]["uri"], *uri);
    }
    for uri in unknown {
        let error = peer.error_of(read(uri), -32602).await;
        assert_eq!(error["data"]["uri"], *uri, "{error}");
    }
}

const ALL: [&str; 4] = ["x://public", "b+x://public", "x://secret", "b+x://secret"];

#[tokio::test]
async fn policy_sees_the_uri_behind_the_prefix_of_a_mount() {
    let mount = || Mount::new("b", Raw);
    let all = two_mounts(mount());
    check(&all, &ALL, &[]).await;
    // A rule of the server about the URI of the source applies to each mount.
    let server_rule = two_mounts(mount()).with_middleware(deny("x://secret"));
    check(&server_rule, &ALL[..2], &ALL[2..]).await;
    let exposed = two_mounts(mount()).with_middleware(deny("b+x://secret"));
    check(&exposed, &ALL[..3], &ALL[3..]).await;
    let of_mount = two_mounts(mount().with_middleware(deny("x://secret")));
    check(&of_mount, &ALL[..3], &ALL[3..]).await;
    // A rule about the template denies all of its URIs.
    let template = two_mounts(mount()).with_middleware(deny("b+x://{id}"));
    check(&template, &["x://public"], &["b+x://public"]).await;
}

#[tokio::test]
async fn policy_of_each_level_sees_the_uri_of_its_level() {
    let inner = two_mounts(Mount::new("b", Raw)).with_middleware(deny("b+x://secret"));
    let outer = server().mount("outer", inner);
    check(&outer, &ALL[..3], &ALL[3..]).await;
    let inner = two_mounts(Mount::new("b", Raw).with_middleware(deny("x://secret")));
    let outer = server().mount("outer", inner);
    check(&outer, &ALL[..3], &ALL[3..]).await;
    let outer = server().mount_with(
        Mount::new("outer", two_mounts(Mount::new("b", Raw))).with_middleware(deny("x://secret")),
    );
    check(&outer, &["b+x://secret", "x://public"], &["x://secret"]).await;
}

#[tokio::test]
async fn rule_of_visibility_sees_the_uri_and_the_template() {
    let hides = |hidden: &'static str| move |_: &Caller<'_>, name: &str| name != hidden;
    for hidden in ["x://secret", "x://{id}"] {
        let of_server = two_mounts(Mount::new("b", Raw)).with_visibility(hides(hidden));
        check(&of_server, &["b+x://secret"], &["x://secret"]).await;
        let of_mount = two_mounts(Mount::new("b", Raw).with_filter(hides(hidden)));
        check(&of_mount, &["x://secret"], &["b+x://secret"]).await;
    }
}

#[tokio::test]
async fn hidden_resource_is_not_read_through_a_template() {
    let server = server()
        .resource(ResourceHandler::new("x://secret", "s", |_, _| async {
            "s"
        }))
        .resource_template(ResourceTemplateHandler::new(
            "x://{id}",
            "t",
            |_, uri, _| async move { uri },
        ))
        .with_visibility(|_, name| name != "x://secret");
    check(&server, &["x://public"], &["x://secret"]).await;
}

#[tokio::test]
async fn other_forms_of_a_denied_uri_are_denied() {
    let server = server()
        .resource_template(ResourceTemplateHandler::new(
            "file:///{+path}",
            "f",
            |_, uri, _| async move { uri },
        ))
        .with_middleware(deny("file:///secret/*"));
    let forms = [
        "file:///secret/a",
        "file:////secret/a",
        "file:///./secret/a",
        "file:///%73ecret/a",
        "file:///public/../secret/a",
        "file:///public/%2E%2e/secret/a",
    ];
    check(&server, &["file:///public/a"], &forms).await;
}

#[tokio::test]
async fn uri_with_the_prefix_of_a_mount_belongs_to_no_other_template() {
    let any = ResourceTemplateHandler::new("{+any}", "any", |_, uri, _| async move { uri });
    let hides = |_: &Caller<'_>, name: &str| name != "x://secret";
    let server = two_mounts(Mount::new("b", Raw).with_filter(hides)).resource_template(any);
    check(&server, &["b+x://public", "y://any"], &["b+x://secret"]).await;
}

#[tokio::test]
async fn template_is_listed_if_the_policy_permits_some_of_its_uris() {
    let rules = json!([{"allow": {"tool": "x://public*"}}]);
    let rules: Vec<PolicyRule> = serde_json::from_value(rules).expect("valid rules");
    let policy = || Policy::new(rules.clone()).expect("a valid policy");
    for server in [
        server()
            .mount_with(Mount::new("a", Raw))
            .with_middleware(policy()),
        server().mount_with(Mount::new("a", Raw).with_middleware(policy())),
    ] {
        check(&server, &["x://public"], &["x://secret"]).await;
        let mut peer = Peer::connect(&server);
        let listed = peer
            .result_of(modern(1, "resources/templates/list", json!({})))
            .await;
        assert_eq!(listed["resourceTemplates"][0]["uriTemplate"], "x://{id}");
    }
}
