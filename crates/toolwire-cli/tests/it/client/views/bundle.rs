//! `toolwire view bundle`.

use crate::client::{TempDirectory, run};

const BUNDLED: &str = "<!doctype html><script>run()</script>";

/// Returns a directory with a view of two files.
fn view() -> TempDirectory {
    let directory = TempDirectory::new("bundle");
    directory.write("index.html", "<!doctype html><script src=app.js></script>");
    directory.write("app.js", "run()");
    directory
}

#[tokio::test]
async fn bundled_document_is_printed_or_saved() {
    let directory = view();
    let path = directory.0.display().to_string();
    let ran = run(&["view", "bundle", &path]).await;
    assert_eq!(ran.stderr, "");
    assert_eq!(ran.ok(), BUNDLED);
    let output = directory.0.join("bundled.html").display().to_string();
    let document = directory.0.join("index.html").display().to_string();
    let ran = run(&["view", "bundle", &document, "-o", &output]).await;
    assert!(ran.stderr.starts_with("saved 37 bytes to "), "{ran:?}");
    assert_eq!(ran.ok(), "");
    let saved = std::fs::read_to_string(&output).expect("the file is written");
    assert_eq!(saved, BUNDLED);
}

#[tokio::test]
async fn tag_that_cannot_be_bundled_is_named() {
    let directory = view();
    directory.write("index.html", "<!doctype html><script src=none.js></script>");
    let path = directory.0.display().to_string();
    let text = run(&["view", "bundle", &path]).await.failed(2);
    assert!(
        text.contains("index.html: <script src=none.js>: \"none.js\" cannot be read"),
        "{text}"
    );
}
