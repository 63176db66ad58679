//! The manifest of a bundle, version 0.3.

use serde_json::{Value, json};

use crate::cargo_package::CargoPackage;
use crate::commands::server_summary::ServerSummary;
use crate::failure::Failure;
use crate::server_settings::ServerSettings;

/// Returns the manifest. Members without a value are left out.
///
/// # Errors
/// Returns an error if `Cargo.toml` lacks what a manifest requires.
pub(super) fn manifest(
    package: &CargoPackage,
    settings: &ServerSettings,
    summary: &ServerSummary,
    file_name: &str,
) -> Result<Value, Failure> {
    let missing = |member: &str| {
        Failure::usage(format!(
            "Cargo.toml has no `{member}`, which a bundle requires"
        ))
        .with_advice(format!("add `{member}` to [package]"))
    };
    let description = package.description.as_deref();
    let description = description.ok_or_else(|| missing("description"))?;
    let author = package.authors.first().ok_or_else(|| missing("authors"))?;
    let entry_point = format!("server/{file_name}");
    let mut config = json!({"command": format!("${{__dirname}}/{entry_point}"), "args": []});
    let environment = settings.bundle_environment();
    if !environment.is_empty() {
        config["env"] = environment.into();
    }
    let mut manifest = json!({
        "manifest_version": "0.3",
        "name": package.name,
        "version": package.version,
        "description": description,
        "author": self::author(author),
        "server": {"type": "binary", "entry_point": entry_point, "mcp_config": config},
    });
    let title = summary.info.as_ref().and_then(|info| info.title.as_ref());
    if let Some(title) = title {
        manifest["display_name"] = json!(title);
    }
    if let Some(url) = &package.repository {
        manifest["repository"] = json!({"type": "git", "url": url});
    }
    if let Some(url) = &package.homepage {
        manifest["homepage"] = json!(url);
    }
    let tools = summary.tools.iter().map(|tool| match &tool.description {
        Some(description) => json!({"name": tool.name, "description": description}),
        None => json!({"name": tool.name}),
    });
    manifest["tools"] = tools.collect::<Vec<_>>().into();
    // A prompt of a manifest contains its text, which only the server knows.
    if !summary.prompts.is_empty() {
        manifest["prompts_generated"] = true.into();
    }
    if let Some(license) = &package.license {
        manifest["license"] = json!(license);
    }
    manifest["compatibility"] = json!({"platforms": [platform()]});
    let user_config = settings.bundle_user_config();
    if !user_config.is_empty() {
        manifest["user_config"] = user_config.into();
    }
    Ok(manifest)
}

/// Returns the name of this platform in a manifest.
pub(super) fn platform() -> &'static str {
    if cfg!(target_os = "macos") {
        "darwin"
    } else if cfg!(windows) {
        "win32"
    } else {
        "linux"
    }
}

/// Returns an author of `Cargo.toml`, which may have the form `Name <address>`. An address that is neither an email address
/// nor a URL stays a part of the name, because a manifest with it would be invalid.
fn author(text: &str) -> Value {
    let parts = text
        .strip_suffix('>')
        .and_then(|text| text.rsplit_once('<'));
    let parts = parts.map(|(name, address)| (name.trim(), address));
    match parts {
        Some((name, address)) if is_email(address) => json!({"name": name, "email": address}),
        Some((name, address)) if address.starts_with("https://") => {
            json!({"name": name, "url": address})
        }
        _ => json!({"name": text}),
    }
}

fn is_email(address: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_graphic() && c != '@');
    address
        .split_once('@')
        .is_some_and(|(user, domain)| is_part(user) && is_part(domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn author_may_have_an_address() {
        assert_eq!(author("Ada"), json!({"name": "Ada"}));
        let expected = json!({"name": "Ada L", "email": "ada@example.com"});
        assert_eq!(author("Ada L <ada@example.com>"), expected);
        let expected = json!({"name": "Ada L", "url": "https://ada.example"});
        assert_eq!(author("Ada L <https://ada.example>"), expected);
        for text in [
            "Ada <ada>",
            "Ada <@>",
            "Ada <a b@c>",
            "Ada <a@b@c>",
            "Ada <>",
        ] {
            assert_eq!(author(text), json!({"name": text}));
        }
    }
}
