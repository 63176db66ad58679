//! Views from files and directories.

use std::fs;
#[cfg(unix)]
use std::io::Write as _;
use std::path::PathBuf;
#[cfg(unix)]
use std::{process, sync::mpsc, thread, time::Duration};

use serde_json::{Value, json};
use toolwire::Server;
use toolwire::apps::{View, bundle};
#[cfg(unix)]
use toolwire::{RawJson, RegistrationError, RequestContext, Tool, ToolHandler};
use toolwire_tests::peer::{Peer, modern, server};

const URI: &str = "ui://weather/forecast";
const MAX_DOCUMENT_BYTES: usize = 4 * 1024 * 1024;

/// A directory that is removed when it is dropped.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let name = format!("toolwire-view-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("assets")).expect("a directory");
        Self(path)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).expect("a file");
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn read(server: &Server) -> Value {
    let mut peer = Peer::connect(server);
    let request = modern(1, "resources/read", json!({ "uri": URI }));
    peer.call(request).await
}

async fn text(server: &Server) -> String {
    let response = read(server).await;
    let text = response["result"]["contents"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text in {response}"))
        .to_owned()
}

/// Returns the reason why a view is not registered.
fn problem(view: View) -> String {
    let error = server().add_view(view).expect_err("an invalid view");
    error.to_string()
}

#[tokio::test]
async fn file_is_read_when_the_view_is_registered() {
    let directory = Directory::new("file");
    let path = directory.write("index.html", "<!doctype html><p>rain");
    let server = server().view(View::file(URI, &path).with_bridge());
    directory.write("index.html", "<!doctype html><p>sun");
    let html = text(&server).await;
    assert!(html.ends_with("<p>rain"), "{html}");
    assert!(html.contains("window.toolwire"), "{html}");
}

#[tokio::test]
async fn directory_becomes_one_document() {
    let directory = Directory::new("bundled");
    let html = "<!doctype html><script src=/assets/app.js></script><img src=assets/a.png>";
    let path = directory.write("index.html", html);
    directory.write("assets/app.js", "run()");
    directory.write("assets/a.png", [1, 2, 3]);
    let expected = "<!doctype html><script>run()</script><img src=\"data:image/png;base64,AQID\">";
    for path in [&directory.0, &path] {
        let server = server().view(View::bundled(URI, path));
        assert_eq!(text(&server).await, expected);
        assert_eq!(bundle(path).expect("valid"), expected);
    }
}

#[tokio::test]
async fn changed_files_appear_with_reload() {
    let directory = Directory::new("reload");
    let html = "<!doctype html><script src=app.js></script>";
    directory.write("index.html", html);
    directory.write("app.js", "one()");
    let view = View::bundled(URI, &directory.0)
        .with_border(true)
        .with_reload();
    let server = server().view(view);
    let mut peer = Peer::connect(&server);
    let list = peer.result_of(modern(1, "resources/list", json!({}))).await;
    assert_eq!(list["resources"][0].get("size"), None);
    assert!(text(&server).await.contains("one()"));
    directory.write("app.js", "two()");
    let response = read(&server).await;
    let contents = &response["result"]["contents"][0];
    assert_eq!(contents["text"], "<!doctype html><script>two()</script>");
    assert_eq!(contents["mimeType"], "text/html;profile=mcp-app");
    assert_eq!(contents["_meta"], json!({"ui": {"prefersBorder": true}}));
    // The author sees what is wrong, and the next version is served again.
    fs::remove_file(directory.0.join("app.js")).expect("the file exists");
    let response = read(&server).await;
    let message = response["error"]["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("<script src=app.js>: \"app.js\" cannot be read"),
        "{response}"
    );
    // The path of the directory is in the log, and not in the response.
    assert!(!message.contains("toolwire-view"), "{response}");
    fs::remove_file(directory.0.join("index.html")).expect("the file exists");
    let response = read(&server).await;
    let message = response["error"]["message"].as_str().unwrap_or_default();
    let expected = "view `ui://weather/forecast`: the file cannot be read: ";
    assert!(message.starts_with(expected), "{response}");
    assert!(!message.contains("toolwire-view"), "{response}");
    directory.write("index.html", html);
    directory.write("app.js", "three()");
    assert!(text(&server).await.contains("three()"));
}

/// A pipe stands for a slow disk: the server waits until it is written.
#[cfg(unix)]
#[test]
fn requests_do_not_wait_for_the_files_of_a_view() {
    const TIMEOUT: Duration = Duration::from_secs(60);

    fn in_thread<T: Send + 'static>(
        work: impl FnOnce() -> T + Send + 'static,
    ) -> mpsc::Receiver<T> {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(work()));
        receiver
    }

    fn check(name: &str, add: fn(&Server, View) -> Result<(), RegistrationError>) {
        let directory = Directory::new(name);
        let path = directory.0.join("index.html");
        let made = process::Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo starts").success());
        let server = server();
        let adding = server.clone();
        let view = View::file(URI, &path);
        let adding = thread::spawn(move || add(&adding, view));
        // The pipe is open when the server reads it. The threads have no join: they wait forever if the test fails.
        let opening = in_thread(move || fs::File::options().write(true).open(path));
        let pipe = opening.recv_timeout(TIMEOUT);
        let pipe = pipe.unwrap_or_else(|_| panic!("{name}: the server does not read the file"));
        let mut pipe = pipe.expect("a pipe");
        let read = in_thread(move || drop(server.capabilities())).recv_timeout(TIMEOUT);
        assert!(read.is_ok(), "{name}: the server is locked");
        pipe.write_all(b"<!doctype html><p>rain").expect("a reader");
        drop(pipe);
        let added = adding.join().expect("no panic");
        assert!(added.is_ok(), "{name}: {added:?}");
    }
    check("slow-view", |server, view| server.add_view(view));
    check("slow-tool", |server, view| {
        let tool = Tool::new("forecast", json!({"type": "object"}));
        let tool = ToolHandler::raw(tool, |_: RequestContext, _: RawJson| async { "rain" });
        server.add_tool(tool.with_view(view))
    });
}

#[tokio::test]
async fn invalid_files_are_rejected_with_their_path() {
    let directory = Directory::new("invalid");
    let missing = problem(View::file(URI, directory.0.join("none.html")));
    assert!(
        missing.starts_with("view `ui://weather/forecast`: "),
        "{missing}"
    );
    assert!(
        missing.contains("none.html: the file cannot be read"),
        "{missing}"
    );
    let path = directory.write("index.html", "<p>no document");
    assert!(problem(View::file(URI, &path)).contains("whole HTML document"));
    directory.write("index.html", [b'<', 0xff]);
    assert!(problem(View::file(URI, &path)).contains("is not UTF-8"));
    directory.write(
        "index.html",
        "<!doctype html><img src=https://example.com/a.png>",
    );
    let remote = problem(View::bundled(URI, &directory.0).with_reload());
    assert!(
        remote.contains("<img src=https://example.com/a.png>: "),
        "{remote}"
    );
}

#[tokio::test]
async fn size_of_a_file_is_limited() {
    let directory = Directory::new("size");
    let start = "<!doctype html>";
    for (bytes, is_valid) in [(MAX_DOCUMENT_BYTES, true), (MAX_DOCUMENT_BYTES + 1, false)] {
        let html = format!("{start}{}", " ".repeat(bytes - start.len()));
        let path = directory.write("index.html", html);
        for view in [View::file(URI, &path), View::bundled(URI, &path)] {
            match server().add_view(view) {
                Ok(()) => assert!(is_valid),
                Err(error) => {
                    let error = error.to_string();
                    assert!(
                        !is_valid && error.contains("more than 4194304 bytes"),
                        "{error}"
                    );
                }
            }
        }
    }
}
