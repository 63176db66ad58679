//! `toolwire replay --test`: the code compiles and passes.
//!
//! `records/demo.rs` is the code for `records/demo.mcplog`, which is a record of the server below. `UPDATE_RECORDS=1 cargo
//! test -p toolwire-cli test_code` writes both again.

use toolwire::{Elicit, RequestContext, Server, ToolError, tool};

use crate::client::run;
use crate::client::small_server::SmallServer;
use crate::http::HttpDemo;
use crate::process::toolwire;

/// Adds two integers.
#[tool]
async fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[derive(Debug, serde::Deserialize, Elicit)]
struct Confirmation {
    confirmed: bool,
}

/// Asks before it does something.
#[tool]
async fn confirm(ctx: &RequestContext) -> Result<&'static str, ToolError> {
    let Confirmation { confirmed } = ctx.ask("confirmation", "Sure?").await?;
    Ok(if confirmed { "done" } else { "not done" })
}

fn server() -> Server {
    Server::new("recorded", "1.0.0").tool(add).tool(confirm)
}

include!("../../records/demo.rs");

#[tokio::test]
async fn code_is_that_of_the_record() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records");
    let record = format!("{directory}/demo.mcplog");
    let is_updating = std::env::var_os("UPDATE_RECORDS").is_some();
    if is_updating {
        // The file may be missing.
        let _ = std::fs::remove_file(&record);
        write_record(&record).await;
    }
    let code = run(&["replay", &record, "--test"]).await.ok();
    let file = format!("{directory}/demo.rs");
    if is_updating {
        std::fs::write(&file, &code).expect("the file is writable");
    }
    let expected = std::fs::read_to_string(file).expect("the file is readable");
    assert_eq!(
        code, expected,
        "run with UPDATE_RECORDS=1 to update the code"
    );
}

/// Records calls in both eras.
async fn write_record(record: &str) {
    let server = SmallServer::start(server()).await;
    let proxy = toolwire(&["record", record, server.url(), "--listen", "127.0.0.1:0"]);
    let proxy = HttpDemo::start_command(proxy).await;
    for era in ["modern", "legacy"] {
        for call in [
            &["add", "a=1", "b=2"][..],
            &["confirm", "--answer", "confirmed=yes"],
        ] {
            let url = proxy.url();
            let call = [&["call", &url, "--era", era], call].concat();
            run(&call).await.ok();
        }
    }
}
