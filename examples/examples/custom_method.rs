//! A custom method: an extension that the server declares and clients may use.
//!
//! Start its name with your domain, so that it does not collide with the protocol or other extensions.
//! Run it with `cargo run -p toolwire-examples --example custom_method`, or give that command to an MCP client.

use serde::{Deserialize, Serialize};
use serde_json::json;
use toolwire::{ErrorObject, Extension, RequestContext, Server};

const EXTENSION: &str = "com.example/spelling";
const LANGUAGES: [&str; 2] = ["en", "de"];

/// The parameters of the method.
#[derive(Deserialize)]
struct Check {
    word: String,
    #[serde(default = "english")]
    language: String,
}

fn english() -> String {
    "en".to_owned()
}

/// The result of the method.
#[derive(Serialize)]
struct Verdict {
    correct: bool,
}

async fn check(_ctx: RequestContext, check: Check) -> Result<Verdict, ErrorObject> {
    if !LANGUAGES.contains(&check.language.as_str()) {
        let message = format!("no dictionary for `{}`", check.language);
        return Err(ErrorObject::invalid_params(message));
    }
    let correct = !check.word.contains("teh");
    Ok(Verdict { correct })
}

#[tokio::main]
async fn main() -> Result<(), toolwire::Error> {
    // Clients look for the extension in the capabilities before they call its method.
    let spelling = Extension::new(EXTENSION)
        .with_settings(json!({"languages": LANGUAGES}))
        .method("com.example/spelling/check", check);
    Server::new("speller", "1.0.0")
        .extension(spelling)
        .serve_stdio()
        .await
}
