//! A client that logs in and stores the login in a file: the first run opens the browser, later runs do not.
//!
//! Run it with `cargo run -p toolwire-examples --example log_in -- https://example.com/mcp tokens.json`. With
//! `--no-browser` at the end it only prints the address, and with `--log-out` it deletes the login.

use toolwire::Client;
use toolwire_auth::client::{FileTokenStore, LogoutOutcome, LoopbackLogin, OAuthConfig};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, file, flags @ ..] = &arguments[..] else {
        return Err("pass a URL and a file for tokens".into());
    };
    let is_set = |flag: &str| flags.iter().any(|given| given == flag);

    let login = if is_set("--no-browser") {
        LoopbackLogin::new().without_browser()
    } else {
        LoopbackLogin::new()
    };
    let oauth = OAuthConfig::login("Log-in example", login).with_store(FileTokenStore::new(file));
    if is_set("--log-out") {
        match oauth.log_out(url).await? {
            LogoutOutcome::Revoked => eprintln!("logged out"),
            LogoutOutcome::RemovedLocally(why) => eprintln!("deleted, but not revoked: {why}"),
            _ => eprintln!("there was no login"),
        }
        return Ok(());
    }

    // Connecting includes the login, if the server requires one.
    let client = Client::builder("log-in-example", "1.0.0")
        .with_http_layer(oauth.clone())
        .connect(url)
        .await?;
    match oauth.account(url).await? {
        Some(account) => {
            let scopes = account.scopes().unwrap_or("unknown");
            eprintln!("logged in at {}, scopes: {scopes}", account.issuer());
        }
        None => eprintln!("this server requires no login"),
    }
    for tool in client.list_tools().await? {
        eprintln!("tool {}", tool.name);
    }
    client.close().await;
    Ok(())
}
