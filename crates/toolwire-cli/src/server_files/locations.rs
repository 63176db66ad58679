//! The configuration files of MCP clients, and where they are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A file that may describe servers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Location {
    /// The application that reads the file.
    pub(super) application: &'static str,
    pub(super) path: PathBuf,
    /// The folder of the project, or `None` if the file belongs to the user.
    pub(super) project: Option<PathBuf>,
}

/// Files in the folder of a project. A name is looked up in this order.
const PROJECT_FILES: [(&str, &str); 11] = [
    ("toolwire", "mcp.json"),
    ("Claude Code", ".mcp.json"),
    ("VS Code", ".vscode/mcp.json"),
    ("Cursor", ".cursor/mcp.json"),
    ("Gemini CLI", ".gemini/settings.json"),
    ("Zed", ".zed/settings.json"),
    ("Roo Code", ".roo/mcp.json"),
    ("Kiro", ".kiro/settings/mcp.json"),
    ("Amazon Q", ".amazonq/mcp.json"),
    ("Codex", ".codex/config.toml"),
    ("opencode", "opencode.json"),
];

/// Files in the home directory of the user.
const HOME_FILES: [(&str, &str); 8] = [
    ("Claude Code", ".claude.json"),
    ("Cursor", ".cursor/mcp.json"),
    ("Windsurf", ".codeium/windsurf/mcp_config.json"),
    ("Gemini CLI", ".gemini/settings.json"),
    ("Copilot CLI", ".copilot/mcp-config.json"),
    ("LM Studio", ".lmstudio/mcp.json"),
    ("Kiro", ".kiro/settings/mcp.json"),
    ("Amazon Q", ".aws/amazonq/mcp.json"),
];

/// Files in the directory where applications store their settings.
const APPLICATION_FILES: [(&str, &str); 5] = [
    ("Claude Desktop", "Claude/claude_desktop_config.json"),
    ("VS Code", "Code/User/mcp.json"),
    ("VS Code Insiders", "Code - Insiders/User/mcp.json"),
    (
        "Cline",
        "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    ),
    (
        "Roo Code",
        "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
    ),
];

/// The operating systems that differ in their directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Platform {
    Unix,
    MacOs,
    Windows,
}

impl Platform {
    fn current() -> Self {
        if cfg!(target_os = "macos") {
            Self::MacOs
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Unix
        }
    }
}

/// Returns all files that are searched, the first one first.
pub(super) fn all() -> Vec<Location> {
    all_on(Platform::current(), &|name| std::env::var_os(name))
}

/// Returns the file of an application in the directories of the user.
pub(crate) fn user_file(application: &str) -> Option<PathBuf> {
    let mut locations = all().into_iter();
    let location = locations
        .find(|location| location.application == application && location.project.is_none())?;
    Some(location.path)
}

/// Returns the file of an application in the current directory, which is the folder of the project.
pub(crate) fn project_file(application: &str) -> Option<PathBuf> {
    let mut files = PROJECT_FILES.iter();
    let (_, path) = files.find(|(known, _)| *known == application)?;
    Some(PathBuf::from(path))
}

/// Returns the location of a file that the user named.
pub(super) fn named(path: &Path) -> Location {
    let folder = match path.parent() {
        // A file such as `.vscode/mcp.json` belongs to the folder above.
        Some(parent) if is_hidden(parent) => parent.parent(),
        parent => parent,
    };
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    Location {
        application: "",
        path: path.to_owned(),
        project: Some(folder.unwrap_or(Path::new(".")).to_owned()),
    }
}

/// Returns the home directory of the user.
pub(super) fn home() -> Option<PathBuf> {
    home_on(Platform::current(), &|name| std::env::var_os(name))
}

/// Returns a path as the user writes it, with `~` for the home directory.
pub(crate) fn shown(path: &Path) -> String {
    match home().as_deref().map(|home| path.strip_prefix(home)) {
        Some(Ok(rest)) if path.is_absolute() => Path::new("~").join(rest).display().to_string(),
        _ => path.display().to_string(),
    }
}

type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

fn all_on(platform: Platform, environment: Environment<'_>) -> Vec<Location> {
    let variable = |name: &str| {
        let value = environment(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let mut locations: Vec<_> = PROJECT_FILES
        .iter()
        .map(|&(application, path)| Location {
            application,
            path: PathBuf::from(path),
            project: Some(PathBuf::from(".")),
        })
        .collect();
    let home = home_on(platform, environment);
    let in_home = |path: &str| home.as_ref().map(|home| home.join(path));
    let xdg_config = variable("XDG_CONFIG_HOME").or_else(|| in_home(".config"));
    let applications = match platform {
        Platform::Unix => xdg_config.clone(),
        Platform::MacOs => in_home("Library/Application Support"),
        Platform::Windows => variable("APPDATA"),
    };
    // toolwire, Goose and Zed use ~/.config also on macOS.
    // opencode uses ~/.config on every platform.
    let opencode = xdg_config.clone();
    let (config, zed) = match platform {
        Platform::Windows => (variable("APPDATA").or(xdg_config), "Zed/settings.json"),
        _ => (xdg_config, "zed/settings.json"),
    };
    let mut add = |application, path: Option<PathBuf>| {
        locations.extend(path.map(|path| Location {
            application,
            path,
            project: None,
        }));
    };
    let in_config = |path: &str| config.as_ref().map(|config| config.join(path));
    add("toolwire", in_config("toolwire/mcp.json"));
    for (application, path) in HOME_FILES {
        add(application, in_home(path));
    }
    let codex = variable("CODEX_HOME").or_else(|| in_home(".codex"));
    add("Codex", codex.map(|folder| folder.join("config.toml")));
    for (application, path) in APPLICATION_FILES {
        let path = applications.as_ref().map(|folder| folder.join(path));
        add(application, path);
    }
    add("Zed", in_config(zed));
    let opencode = opencode.map(|folder| folder.join("opencode/opencode.json"));
    add("opencode", opencode);
    let goose = match platform {
        Platform::Windows => "Block/goose/config/config.yaml",
        Platform::Unix | Platform::MacOs => "goose/config.yaml",
    };
    add("Goose", in_config(goose));
    locations
}

fn home_on(platform: Platform, environment: Environment<'_>) -> Option<PathBuf> {
    let names: &[&str] = match platform {
        Platform::Windows => &["USERPROFILE", "HOME"],
        _ => &["HOME"],
    };
    let mut values = names.iter().filter_map(|name| environment(name));
    values.find(|value| !value.is_empty()).map(PathBuf::from)
}

fn is_hidden(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with('.') && name.len() > 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the path of the file of an application in the directories of the user.
    fn user_file(platform: Platform, application: &str, variables: &[(&str, &str)]) -> String {
        let environment = |name: &str| {
            let mut variables = variables.iter();
            let (_, value) = variables.find(|(known, _)| *known == name)?;
            Some(OsString::from(value))
        };
        let locations = all_on(platform, &environment);
        let mut files = locations
            .iter()
            .filter(|location| location.project.is_none() && location.application == application);
        let file = files.next().expect("the application has a file");
        file.path.display().to_string().replace('\\', "/")
    }

    #[test]
    fn files_of_the_user_are_in_the_directories_of_the_platform() {
        fn check(platform: Platform, application: &str, expected: &str) {
            let variables = match platform {
                Platform::Windows => &[("USERPROFILE", "C:/Ada"), ("APPDATA", "C:/Ada/Roaming")],
                _ => &[("HOME", "/ada"), ("LANG", "C")],
            };
            assert_eq!(user_file(platform, application, variables), expected);
        }
        use Platform::{MacOs, Unix, Windows};
        check(
            Unix,
            "Claude Desktop",
            "/ada/.config/Claude/claude_desktop_config.json",
        );
        check(
            MacOs,
            "Claude Desktop",
            "/ada/Library/Application Support/Claude/claude_desktop_config.json",
        );
        check(
            Windows,
            "Claude Desktop",
            "C:/Ada/Roaming/Claude/claude_desktop_config.json",
        );
        check(Unix, "Claude Code", "/ada/.claude.json");
        check(Windows, "Cursor", "C:/Ada/.cursor/mcp.json");
        check(Unix, "VS Code", "/ada/.config/Code/User/mcp.json");
        check(Unix, "Windsurf", "/ada/.codeium/windsurf/mcp_config.json");
        check(MacOs, "Zed", "/ada/.config/zed/settings.json");
        check(Windows, "Zed", "C:/Ada/Roaming/Zed/settings.json");
        check(Unix, "Gemini CLI", "/ada/.gemini/settings.json");
        check(MacOs, "toolwire", "/ada/.config/toolwire/mcp.json");
        check(Unix, "Codex", "/ada/.codex/config.toml");
        check(Windows, "opencode", "C:/Ada/.config/opencode/opencode.json");
        check(MacOs, "Goose", "/ada/.config/goose/config.yaml");
        let goose = "C:/Ada/Roaming/Block/goose/config/config.yaml";
        check(Windows, "Goose", goose);
    }

    #[test]
    fn config_directory_can_be_set() {
        let variables = [("HOME", "/ada"), ("XDG_CONFIG_HOME", "/etc/ada")];
        let path = user_file(Platform::Unix, "toolwire", &variables);
        assert_eq!(path, "/etc/ada/toolwire/mcp.json");
        let path = user_file(Platform::Unix, "Claude Desktop", &variables);
        assert_eq!(path, "/etc/ada/Claude/claude_desktop_config.json");
        let variables = [("HOME", "/ada"), ("CODEX_HOME", "/codex")];
        let path = user_file(Platform::Unix, "Codex", &variables);
        assert_eq!(path, "/codex/config.toml");
    }

    #[test]
    fn project_of_a_named_file_is_the_folder_above_a_hidden_one() {
        fn check(path: &str, expected: &str) {
            let location = named(Path::new(path));
            assert_eq!(location.project.as_deref(), Some(Path::new(expected)));
        }
        check("servers.json", ".");
        check("/folder/servers.json", "/folder");
        check("/folder/.vscode/mcp.json", "/folder");
        check(".cursor/mcp.json", ".");
        check("../mcp.json", "..");
    }
}
