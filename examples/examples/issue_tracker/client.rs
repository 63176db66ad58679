//! The client: logs in, lists the issues and closes the first.

#![expect(
    clippy::print_stdout,
    reason = "a client prints its results, and only servers on stdio need standard output for messages"
)]

use std::error::Error;

use serde_json::json;
use toolwire::Client;
use toolwire_auth::client::{LoopbackLogin, OAuthConfig};
use toolwire_examples::job::ServerChoice;

pub(crate) async fn run(choice: &ServerChoice) -> Result<(), Box<dyn Error>> {
    let oauth = OAuthConfig::login("Issue tracker example", login());
    let builder = Client::builder("tracker-client", "1.0.0").with_http_layer(oauth);
    // Connecting includes the login, if the server requires one.
    let client = choice.connect(builder).await?;

    let tools = client.list_tools().await?;
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    println!("tools: {}", names.join(", "));
    println!("{}", client.call_tool("list_issues", ()).await?.all_text());

    // This tool needs another scope. The client asks the user for it and repeats the call.
    for number in [1, 1] {
        match client
            .call_tool("close_issue", json!({"number": number}))
            .await
        {
            Ok(result) => println!("{}", result.all_text()),
            Err(error) => println!("not permitted: {error}"),
        }
    }
    client.close().await;
    Ok(())
}

/// Returns a login in the browser, or as the user in `TRACKER_USER` without one.
fn login() -> LoopbackLogin {
    let Ok(user) = std::env::var("TRACKER_USER") else {
        return LoopbackLogin::new();
    };
    LoopbackLogin::new().with_browser_opener(move |page| {
        println!("{user} logs in");
        let page = format!("{page}&user={user}");
        // The login waits for the redirect to this machine, which the request follows.
        tokio::spawn(async move { reqwest::get(page).await });
        true
    })
}
