//! Damaged files count as absent, and do not affect other tasks.

use std::sync::Mutex;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::*;
use crate::store::file::format::{read_content, read_header};

/// Checks that a store works although the file of the task `bad` has this content.
async fn check(content: &[u8]) {
    check_with_header(content, false).await;
}

/// The same. `is_header_valid` states that only the record is damaged.
async fn check_with_header(content: &[u8], is_header_valid: bool) {
    let scratch = Scratch::new();
    let store = scratch.open();
    let (ann, worker) = (user("ann"), Worker::new("w", ["render"]));
    store.create("bad", &ann, record(), None).await.unwrap();
    store.create("good", &ann, record(), None).await.unwrap();
    fs::write(scratch.task("bad"), content).unwrap();
    let shown = String::from_utf8_lossy(content);
    for store in [&store, &scratch.open()] {
        assert_eq!(store.load("bad", &ann).await.unwrap(), None, "{shown}");
        let renewed = store.renew("bad", &worker, LEASE).await.unwrap();
        assert!(!renewed, "{shown}");
        let listed = store.list(&ann, None, 10).await.unwrap();
        let ids: Vec<&str> = listed.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(ids, ["good"], "{shown}");
        let claimed = store.claim(&worker, LEASE, 10).await.unwrap();
        assert_eq!(claimed.len(), 1, "{shown}");
        assert!(store.release("good", &worker).await.unwrap());
        store.create("new", &ann, record(), None).await.unwrap();
        assert!(store.remove("new").await.unwrap());
        assert_eq!(fs::read(scratch.task("bad")).unwrap(), content, "{shown}");
    }
    let replaced = store.replace("bad", 1, record()).await.unwrap();
    assert_eq!(replaced.is_some(), is_header_valid, "{shown}");
    let loaded = store.load("bad", &ann).await.unwrap();
    assert_eq!(loaded.is_some(), is_header_valid, "{shown}");
}

/// Returns the content of the file of the task `bad`.
async fn valid_content() -> Vec<u8> {
    let scratch = Scratch::new();
    let store = scratch.open();
    let ann = user("ann");
    store.create("bad", &ann, record(), None).await.unwrap();
    fs::read(scratch.task("bad")).unwrap()
}

#[tokio::test]
async fn damaged_file_counts_as_absent() {
    for content in [
        "",
        "{}",
        "\n",
        "null",
        "{\"task\":{}",
        "{\"task\":{},\n\"record\":{}}\n",
    ] {
        check(content.as_bytes()).await;
    }
    check(b"\xff\xfe\x00").await;
    let valid = valid_content().await;
    check(&valid[..valid.len() - 1]).await;
    check(&valid[..valid.len() / 2]).await;
    check(&[&valid[..], b"\n"].concat()).await;
    let text = String::from_utf8(valid).unwrap();
    // A record of the same length that is not a record.
    for (part, other) in [
        ("\"working\"", "\"wor?ing\""),
        ("\"record\":{", "\"record\":["),
    ] {
        let damaged = text.replace(part, other);
        assert_ne!(damaged, text);
        check_with_header(damaged.as_bytes(), true).await;
    }
    // Another format, and the file of another task.
    check(text.replace("\"format\":1", "\"format\":2").as_bytes()).await;
    check(text.replace("\"bad\"", "\"dab\"").as_bytes()).await;
}

#[tokio::test]
async fn every_truncation_is_recognized() {
    let scratch = Scratch::new();
    let valid = valid_content().await;
    let path = scratch.0.join("file");
    for length in 0..valid.len() {
        fs::write(&path, &valid[..length]).unwrap();
        assert!(read_header(&path).is_err(), "{length}");
        assert!(read_content(&path).is_err(), "{length}");
    }
    fs::write(&path, &valid).unwrap();
    let content = read_content(&path).unwrap().unwrap();
    assert!(content.decode_record().is_ok());
    assert_eq!(read_header(&path).unwrap(), Some(content.header));
}

#[tokio::test]
async fn directory_instead_of_a_file_does_not_affect_others() {
    let scratch = Scratch::new();
    let store = scratch.open();
    let ann = user("ann");
    fs::create_dir(scratch.task("bad")).unwrap();
    store.create("good", &ann, record(), None).await.unwrap();
    let listed = store.list(&ann, None, 10).await.unwrap();
    assert_eq!(listed.len(), 1);
}

#[test]
fn damage_is_reported_once_with_the_path() {
    let scratch = Scratch::new();
    scratch.open();
    fs::write(scratch.task("bad"), "s3cret").unwrap();
    let warnings = Warnings::default();
    // With a single subscriber, `tracing` caches a call site as disabled if a thread without a subscriber reaches it
    // first, as other tests do.
    let _other = tracing::Dispatch::new(Warnings::default());
    tracing::subscriber::with_default(warnings.clone(), || {
        let directory = TaskDirectory::open(scratch.directory()).unwrap();
        let name = task_file_name("bad").unwrap();
        for _ in 0..3 {
            assert!(directory.header(&name).unwrap().is_none());
            assert!(directory.content(&name).unwrap().is_none());
        }
    });
    let text = warnings.0.lock().unwrap().clone();
    let path = scratch.task("bad").display().to_string();
    assert_eq!(text.matches(&path).count(), 1, "{text}");
    assert!(text.contains("damaged"), "{text}");
    assert!(!text.contains("s3cret"), "{text}");
}

/// A subscriber that records the fields of events.
#[derive(Debug, Clone, Default)]
struct Warnings(Arc<Mutex<String>>);

impl Visit for Warnings {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = self.0.lock().unwrap();
        text.push_str(&format!("{field}={value:?} "));
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
