//! The files in the directory `fleet`: they agree with each other and with the program, and the balancer works with its
//! configuration.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::{fs, io};

use serde_json::{Value, json};
use tokio::process::{Child, Command};
use toolwire::Era;
use toolwire_proto::skills::parse_front_matter;

use crate::fleet::{Fleet, agreeing_client};
use crate::onboarding::text;

/// The file with the messages of the balancer.
const LOG: &str = "haproxy.log";

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fleet")
}

fn read(name: &str) -> String {
    fs::read_to_string(directory().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Parses a file of YAML. The reader is that of front matter, which is strict.
pub(crate) fn parsed(name: &str, text: &str) -> Value {
    let fields = parse_front_matter(format!("---\n{text}\n---\n").as_bytes());
    fields.map_or_else(|error| panic!("{name}: {error}"), Value::Object)
}

/// Returns a template of the chart with the default values. The templates use nothing but values and the name of the
/// release, so that this needs no Helm.
fn rendered(name: &str) -> Value {
    let values = parsed("values.yaml", &read("chart/values.yaml"));
    let template = read(&format!("chart/templates/{name}"));
    let mut text = String::new();
    let mut rest = template.as_str();
    while let Some((before, after)) = rest.split_once("{{ ") {
        let (expression, after) = after.split_once(" }}").expect("an end");
        text.push_str(before);
        match expression.strip_prefix(".Values.") {
            Some(path) => {
                let value = values.pointer(&format!("/{}", path.replace('.', "/")));
                match value.unwrap_or_else(|| panic!("{name}: no value {path}")) {
                    Value::String(value) => text.push_str(value),
                    value => text.push_str(&value.to_string()),
                }
            }
            None => {
                assert_eq!(expression, ".Release.Name", "{name}");
                text.push_str("warehouse");
            }
        }
        rest = after;
    }
    text.push_str(rest);
    parsed(name, &text)
}

/// Returns the words after each line of the balancer's configuration that starts with this word.
pub(crate) fn settings<'a>(configuration: &'a str, word: &str) -> Vec<Vec<&'a str>> {
    let lines = configuration.lines().map(str::split_whitespace);
    let lines = lines.map(Iterator::collect::<Vec<_>>);
    lines
        .filter(|words| words.first() == Some(&word))
        .map(|words| words[1..].to_vec())
        .collect()
}

/// Returns the arguments of the engine in the compose file, without the program.
fn engine_arguments(compose: &Value) -> Vec<&str> {
    let command = compose["services"]["redis"]["command"].as_array();
    let mut words = command.unwrap().iter().map(|word| word.as_str().unwrap());
    assert_eq!(words.next(), Some("redis-server"));
    words.collect()
}

#[test]
fn compose_file_agrees_with_the_balancer_and_the_image() {
    let compose = parsed("compose.yaml", &read("compose.yaml"));
    let (balancer, image) = (read("haproxy.cfg"), read("Dockerfile"));
    let services = compose["services"].as_object().unwrap();
    let nodes = services.iter().filter(|(name, _)| name.starts_with("node"));
    let expected: BTreeSet<_> = nodes
        .map(|(name, node)| {
            assert_eq!(node["build"]["dockerfile"], "examples/fleet/Dockerfile");
            let engine = node["environment"]["FLEET_REDIS"].as_str().unwrap();
            assert_eq!(engine, "redis://redis:6379");
            (name.clone(), format!("{name}:3000"))
        })
        .collect();
    assert_eq!(expected.len(), 3);
    let servers = settings(&balancer, "server");
    let servers = servers
        .iter()
        .map(|words| (words[0].to_owned(), words[1].to_owned()));
    assert_eq!(servers.collect::<BTreeSet<_>>(), expected);
    assert_eq!(settings(&balancer, "bind"), [[":8080"]]);
    assert_eq!(settings(&balancer, "balance"), [["roundrobin"]]);
    assert_eq!(
        services["balancer"]["ports"],
        json!(["127.0.0.1:8080:8080"])
    );
    assert_eq!(settings(&image, "EXPOSE"), [["3000"]]);
    assert_eq!(settings(&image, "ENV"), [["FLEET_ADDRESS=0.0.0.0:3000"]]);
    // The names of the settings are those of the program.
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/fleet/server.rs");
    let program = fs::read_to_string(program).unwrap();
    for name in ["FLEET_REDIS", "FLEET_ADDRESS", "FLEET_HOSTS"] {
        assert!(program.contains(&format!("\"{name}\"")), "{name}");
    }
}

#[test]
fn chart_agrees_with_itself_and_the_image() {
    let deployment = rendered("deployment.yaml");
    let service = rendered("service.yaml");
    let budget = rendered("disruption_budget.yaml");
    let autoscaler = rendered("autoscaler.yaml");
    let templates = fs::read_dir(directory().join("chart/templates")).unwrap();
    assert_eq!(templates.count(), 4, "all templates are checked");
    parsed("Chart.yaml", &read("chart/Chart.yaml"));

    let labels = json!({
        "app.kubernetes.io/name": "toolwire-fleet",
        "app.kubernetes.io/instance": "warehouse",
    });
    for document in [&deployment, &service, &budget, &autoscaler] {
        assert_eq!(document["metadata"]["name"], "warehouse");
        assert_eq!(document["metadata"]["labels"], labels);
    }
    let spec = &deployment["spec"];
    let pod = &spec["template"]["spec"];
    let mut selectors = vec![
        &spec["selector"]["matchLabels"],
        &spec["template"]["metadata"]["labels"],
        &service["spec"]["selector"],
        &budget["spec"]["selector"]["matchLabels"],
    ];
    let spreads = pod["topologySpreadConstraints"].as_array().unwrap();
    selectors.extend(
        spreads
            .iter()
            .map(|spread| &spread["labelSelector"]["matchLabels"]),
    );
    for selector in selectors {
        assert_eq!(*selector, labels);
    }

    let node = &pod["containers"][0];
    assert_eq!(
        node["ports"],
        json!([{"name": "mcp", "containerPort": 3000}])
    );
    assert_eq!(service["spec"]["ports"][0]["targetPort"], "mcp");
    assert_eq!(service["spec"]["sessionAffinity"], "None");
    let variables = node["env"].as_array().unwrap().iter();
    let variables: Vec<_> = variables.map(|variable| &variable["name"]).collect();
    assert_eq!(variables, ["FLEET_HOSTS", "FLEET_REDIS"]);

    // The pod is killed after the pause, the time for running calls (10 s) and a reserve.
    let pause = node["lifecycle"]["preStop"]["exec"]["command"][1].as_str();
    let pause: u64 = pause.unwrap().parse().unwrap();
    let grace = pod["terminationGracePeriodSeconds"].as_u64().unwrap();
    assert!(pause + 10 < grace, "{pause} s + 10 s < {grace} s");
    assert_eq!(spec["strategy"]["rollingUpdate"]["maxUnavailable"], 0);
    assert_eq!(budget["spec"]["maxUnavailable"], 1);
    assert_eq!(autoscaler["spec"]["scaleTargetRef"]["name"], "warehouse");
    assert_eq!(autoscaler["spec"]["minReplicas"], 3);
}

/// Returns the configuration of the balancer with the addresses of these nodes.
fn configuration(nodes: &[String]) -> String {
    let mut text = read("haproxy.cfg");
    for (number, address) in nodes.iter().enumerate() {
        text = text.replace(&format!("node{}:3000", number + 1), address);
    }
    text
}

fn temporary(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Returns the command of haproxy with this configuration, and this name of its file.
fn haproxy(option: &str, name: &str, configuration: &str) -> Command {
    let path = temporary(name);
    fs::write(&path, configuration).unwrap();
    let mut command = Command::new("haproxy");
    command.arg(option).arg("-f").arg(path).kill_on_drop(true);
    command
}

/// Checks a configuration as haproxy does before it starts.
async fn check(configuration: &str) {
    let output = haproxy("-c", "checked.cfg", configuration).output().await;
    let output = output.unwrap_or_else(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            panic!("install haproxy (on Debian: `apt-get install haproxy`)")
        }
        _ => panic!("haproxy: {error}"),
    });
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(!text.contains("WARNING"), "{text}");
}

/// Starts the balancer. Returns its URL, and its process, which ends when it is dropped.
fn start(configuration: &str) -> (String, Child) {
    // The balancer gets the socket as its standard input, so that the port is its own.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let configuration = configuration.replace("bind :8080", "bind fd@0");
    let process = haproxy("-db", "running.cfg", &configuration)
        .stdin(Stdio::from(OwnedFd::from(listener)))
        .stdout(Stdio::null())
        .stderr(fs::File::create(temporary(LOG)).unwrap())
        .spawn();
    (url, process.unwrap())
}

#[tokio::test]
async fn balancer_and_engine_of_the_compose_file_serve_both_eras() {
    let compose = parsed("compose.yaml", &read("compose.yaml"));
    let mut fleet = Fleet::start(3, &engine_arguments(&compose)).await;
    let addresses: Vec<_> = fleet
        .nodes
        .iter()
        .map(|node| node.address.clone())
        .collect();
    let configuration = configuration(&addresses);
    check(&configuration).await;
    let (url, _balancer) = start(&configuration);
    let mut clients = Vec::new();
    for era in [Era::Legacy, Era::Modern] {
        let client = agreeing_client().with_era(era).connect(&url).await;
        clients.push(client.unwrap_or_else(|error| {
            let log = fs::read_to_string(temporary(LOG)).unwrap();
            panic!("{error}; messages of haproxy:\n{log}")
        }));
    }
    let mut seen = BTreeSet::new();
    for _ in 0..3 {
        for client in &clients {
            let result = client.call_tool("ship", json!({"city": "Oslo"})).await;
            let result = result.unwrap();
            let node = text(&result).strip_prefix("shipped to Oslo from ");
            seen.insert(node.unwrap().to_owned());
            let result = client.call_tool("pack", json!({"parcels": 1})).await;
            assert!(text(&result.unwrap()).starts_with("packed 1 parcels at "));
        }
    }
    assert!(seen.len() > 1, "{seen:?}");
    // A node leaves, and its sessions continue on the others.
    let leaving = fleet.nodes.remove(0);
    leaving.terminate();
    assert!(leaving.exited().await.success());
    for client in clients {
        for _ in 0..3 {
            let result = client.call_tool("ship", json!({"city": "Oslo"})).await;
            assert!(text(&result.unwrap()).starts_with("shipped"));
        }
        client.close().await;
    }
}

#[tokio::test]
async fn probes_of_the_chart_succeed() {
    let deployment = rendered("deployment.yaml");
    let node = &deployment["spec"]["template"]["spec"]["containers"][0];
    let fleet = Fleet::start(1, &toolwire_tests::engine::IN_MEMORY).await;
    for probe in ["readinessProbe", "livenessProbe"] {
        let probe = &node[probe]["httpGet"];
        let header = &probe["httpHeaders"][0];
        assert_eq!(header["name"], "Accept");
        let path = probe["path"].as_str().unwrap();
        let accept = header["value"].as_str().unwrap();
        let response = fleet.nodes[0].get(path, accept).await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    }
}
