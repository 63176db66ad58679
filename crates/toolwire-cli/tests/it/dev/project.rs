//! A directory with a server that is developed, and a running `toolwire dev`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::process::{Child, Command};

use crate::inspect::InspectCommand;
use crate::process::{Demo, Era, start_and_read_line, toolwire, within};

/// Builds the server: a line with `broken` is an error. The running script is replaced and not written to. A file `hold`
/// stops the build after it has read the sources.
const BUILD: &str = r#"
echo >> builds
if grep -q broken src/server.sh; then
  printf '\033[31merror\033[0m: the tool is \033]0;title\007broken\n' >&2
  exit 1
fi
cp src/server.sh next.sh
echo > holding
while [ -e hold ]; do sleep 0.02; done
rm holding
mv next.sh built.sh
"#;

/// A legacy server. The line before it sets the name of its first tool. Its standard error contains the beginning of an
/// escape sequence, a C1 control character and a bidirectional control.
const SERVER: &str = r#"
echo $$ >> processes
result() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
tool() { printf '{"name":"%s","inputSchema":{"type":"object"}}' "$1"; }
text() { result '{"content":[{"type":"text","text":"'"$1"'"}]}'; }
while IFS= read -r line; do
  id=${line#*\"id\":}
  [ "$id" = "$line" ] && continue
  id=${id%%[!0-9]*}
  case $line in
    *'"method":"initialize"'*)
      case $line in *'"elicitation":'*) elicits=yes ;; esac
      result '{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}},"serverInfo":{"name":"script","version":"1"}}' ;;
    *'"method":"tools/list"'*) result '{"tools":['"$(tool $tool),$(tool wait),$(tool ask)"']}' ;;
    *'"method":"resources/list"'*) result '{"resources":[{"name":"note","uri":"note:///1"}]}' ;;
    *'"method":"resources/templates/list"'*) result '{"resourceTemplates":[]}' ;;
    *'"method":"resources/subscribe"'*) echo $tool >> subscriptions; result '{}' ;;
    *'"method":"ping"'*) result '{}' ;;
    *'"method":"tools/call"'*'"name":"wait"'*)
      echo > waiting
      while [ ! -e go ]; do sleep 0.05; done
      text $tool ;;
    *'"method":"tools/call"'*'"name":"ask"'*)
      [ -z "$elicits" ] && text "$tool cannot ask" && continue
      printf '{"jsonrpc":"2.0","id":"ask","method":"elicitation/create","params":{"message":"Go?","requestedSchema":{"type":"object","properties":{"go":{"type":"boolean"}}}}}\n'
      while IFS= read -r line; do
        case $line in *'"id":"ask"'*) break ;; esac
      done
      case $line in
        *'"action":"accept"'*) text "$tool accepted" ;;
        *) text "$tool declined" ;;
      esac ;;
    *'"method":"tools/call"'*)
      printf 'called %s\033]0;title\007\302\233\342\200\256\n' $tool >&2
      text $tool ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
  esac
done
"#;

/// A directory that is removed on drop.
pub(super) struct Project {
    pub(super) path: PathBuf,
}

impl Project {
    /// Creates an empty directory.
    pub(super) fn empty() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("toolwire-dev-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(path.join("src")).expect("a directory");
        Self { path }
    }

    /// Creates the project of the script server.
    pub(super) fn new() -> Self {
        let project = Self::empty();
        project.write("build.sh", BUILD);
        project.write_server("first", "");
        project
    }

    /// Adds a command to the build.
    pub(super) fn extend_build(&self, command: &str) {
        self.write("build.sh", &format!("{command}\n{BUILD}"));
    }

    /// Returns the number of builds so far.
    pub(super) fn builds(&self) -> usize {
        self.read("builds").lines().count()
    }

    pub(super) fn remove(&self, name: &str) {
        std::fs::remove_file(self.path.join(name)).expect("the file exists");
    }

    /// Waits until a file exists.
    pub(super) async fn until_exists(&self, name: &str) {
        within(async {
            while !self.path.join(name).exists() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    }

    /// Replaces a file at once, so that no build reads a part of it.
    pub(super) fn write(&self, name: &str, text: &str) {
        // Hidden files are not watched.
        let new = self.path.join(".new");
        std::fs::write(&new, text).expect("a file");
        std::fs::rename(new, self.path.join(name)).expect("a file");
    }

    /// Writes the sources of the server. `comment` changes nothing, unless it is `broken`.
    pub(super) fn write_server(&self, tool: &str, comment: &str) {
        let text = format!("# {comment}\ntool={tool}\n{SERVER}");
        self.write("src/server.sh", &text);
    }

    pub(super) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path.join(name)).unwrap_or_default()
    }

    /// Waits until a file has this text.
    pub(super) async fn until_contains(&self, name: &str, text: &str) {
        within(async {
            while !self.read(name).contains(text) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn dev(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = toolwire(&["dev", "--json", "--listen", "127.0.0.1:0", "--grace", "10m"]);
    command.args(arguments).current_dir(directory);
    // Builds do not wait for those of other tests.
    command.env("CARGO_TARGET_DIR", directory.join("target"));
    command
}

/// Starts the script server with a client on stdio. Returns the client and the page.
pub(super) async fn start_with_client(project: &Project, era: Era) -> (Demo, InspectCommand) {
    let arguments = ["--build", "sh build.sh", "--", "sh", "built.sh"];
    start_command_with_client(project, era, &arguments).await
}

/// Starts `toolwire dev` with a client on stdio and with these arguments. Its standard error is the file `stderr`.
pub(super) async fn start_command_with_client(
    project: &Project,
    era: Era,
    arguments: &[&str],
) -> (Demo, InspectCommand) {
    let mut command = dev(&project.path, &[&["--stdio"], arguments].concat());
    let stderr = File::create(project.path.join("stderr")).expect("a file");
    command.stderr(stderr);
    let client = Demo::start_command(era, command).await;
    project.until_contains("stderr", "\"token\"").await;
    let printed = project.read("stderr");
    let line = printed.lines().find(|line| line.contains("\"token\""));
    let printed = serde_json::from_str(line.expect("a line")).expect("JSON");
    (client, page_of(&printed))
}

/// A `toolwire dev` without a client on stdio. It ends when it is dropped.
pub(super) struct DevCommand {
    pub(super) page: InspectCommand,
    /// The address for MCP clients.
    pub(super) mcp: String,
    _child: Child,
}

impl DevCommand {
    pub(super) async fn start(directory: &Path, arguments: &[&str]) -> Self {
        let command = dev(directory, arguments);
        let (child, printed) = start_and_read_line(command).await;
        Self {
            page: page_of(&printed),
            mcp: printed["mcp"].as_str().expect("an address").to_owned(),
            _child: child,
        }
    }
}

fn page_of(printed: &Value) -> InspectCommand {
    let text = |name: &str| printed[name].as_str().expect("a text").to_owned();
    InspectCommand::of_address(text("url"), text("token"))
}

/// Waits until the page shows a build of this form.
pub(super) async fn until_build(
    page: &InspectCommand,
    is_expected: impl Fn(&Value) -> bool,
) -> Value {
    until_state(page, |state| is_expected(&state["build"])).await["build"].take()
}

/// Waits until the page is connected to the server.
pub(super) async fn until_connected(page: &InspectCommand) {
    until_state(page, |state| state["connection"]["status"] == "connected").await;
}

async fn until_state(page: &InspectCommand, is_expected: impl Fn(&Value) -> bool) -> Value {
    within(async {
        loop {
            let state = page.get("/api/state").await;
            if is_expected(&state) {
                return state;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}
