//! Shows what a server is, and checks that it responds.

use std::time::Instant;

use serde_json::json;

use crate::commands::{Session, failed};
use crate::connect::era_name;
use crate::failure::{Exit, Failure};
use crate::show;

pub(crate) async fn discover(session: &Session) -> Result<Exit, Failure> {
    let (client, screen) = (&session.client, &session.screen);
    if !screen.json {
        screen.print(&show::server_info(client, screen.style))?;
        return Ok(Exit::Success);
    }
    let mut report = json!({
        "era": era_name(client.detected_era()),
        "protocolVersion": client.version(),
    });
    if let Some(server) = client.server() {
        // A value that `serde_json` cannot represent, such as a number out of range, is left out.
        report["supportedVersions"] = json!(server.versions);
        report["serverInfo"] = serde_json::to_value(&server.info).unwrap_or_default();
        report["capabilities"] = serde_json::to_value(&server.capabilities).unwrap_or_default();
        report["instructions"] = json!(server.instructions);
    }
    screen.print_json(&report)?;
    Ok(Exit::Success)
}

pub(crate) async fn ping(session: &Session) -> Result<Exit, Failure> {
    let (client, screen) = (&session.client, &session.screen);
    let start = Instant::now();
    client.ping().await.map_err(failed)?;
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    if screen.json {
        screen.print_json(&json!({
            "protocolVersion": client.version(),
            "milliseconds": milliseconds,
        }))?;
    } else {
        let version = client.version();
        screen.print(&format!(
            "the server responded in {milliseconds:.1} ms ({version})\n"
        ))?;
    }
    Ok(Exit::Success)
}
