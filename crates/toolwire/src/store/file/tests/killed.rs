//! A process that is killed while it writes loses no acknowledged change and leaves no damaged file.

use std::collections::BTreeMap;
use std::io::{BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use super::*;
use crate::store::file::format::read_content;
use crate::store::file::names::is_task_file;

/// The environment variable with the directory in which a child writes.
const DIRECTORY: &str = "TOOLWIRE_TEST_TASKS";

/// The environment variable with the number of a child.
const NUMBER: &str = "TOOLWIRE_TEST_NUMBER";

/// The test that a child runs. It contains the code of the child.
const CHILD_TEST: &str = "store::file::tests::killed::killed_process_loses_no_acknowledged_change";

/// The changes of one task that a child reported.
#[derive(Debug, Default)]
struct Reported {
    /// The revision of the last acknowledged change.
    revision: u64,
    /// Whether the child started to remove the task, and whether it was acknowledged.
    removing: bool,
    removed: bool,
}

#[test]
fn killed_process_loses_no_acknowledged_change() {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        write_until_killed(PathBuf::from(directory));
    }
    let scratch = Scratch::new();
    scratch.open();
    let mut acknowledged = 0;
    for (round, lines) in [1, 2, 5, 9, 14, 30, 47].into_iter().enumerate() {
        let numbers = [2 * round, 2 * round + 1];
        let children = numbers.map(|number| start(&scratch.directory(), number));
        // Both children write until both have reported some changes, and are killed while they write.
        let mut outputs = Vec::new();
        for mut child in children {
            let mut output = BufReader::new(child.stdout.take().unwrap());
            let mut reported = Vec::new();
            while reported.len() < lines {
                reported.push(read_line(&mut output).expect("the child writes until it is killed"));
            }
            outputs.push((child, output, reported));
        }
        let killed: Vec<_> = outputs
            .into_iter()
            .map(|(child, output, reported)| {
                kill(child);
                (output, reported)
            })
            .collect();
        for (mut output, mut reported) in killed {
            reported.extend(std::iter::from_fn(|| read_line(&mut output)));
            acknowledged += reported.len();
            check(&scratch, &reported);
        }
    }
    assert!(acknowledged > 200, "{acknowledged}");
}

fn start(directory: &Path, number: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", CHILD_TEST, "--nocapture"])
        .env(DIRECTORY, directory)
        .env(NUMBER, number.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills a child with SIGKILL, which no process can handle.
fn kill(mut child: Child) {
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(!status.success(), "the child did not end before: {status}");
}

/// Returns the next complete report of a child, without the output of the test harness.
fn read_line(output: &mut impl io::BufRead) -> Option<String> {
    loop {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        // The last line of a killed process may be incomplete.
        let line = line.strip_suffix('\n')?;
        if let Some((_, report)) = line.split_once("report ") {
            return Some(report.to_owned());
        }
    }
}

/// Creates, replaces and removes tasks, and reports each change after it was acknowledged.
fn write_until_killed(directory: PathBuf) {
    let number = std::env::var(NUMBER).unwrap();
    let report = |text: String| {
        let mut output = io::stdout().lock();
        output
            .write_all(format!("\nreport {text}\n").as_bytes())
            .unwrap();
        output.flush().unwrap();
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = FileTaskStore::open(directory).unwrap();
        let owner = user(&number);
        let worker = Worker::new(number.clone(), ["render"]);
        let limits = MemoryTaskLimits::default().with_unfinished_per_principal(usize::MAX);
        let store = store.with_limits(limits);
        for task in 0.. {
            let id = format!("task-{number}-{task}");
            let lease = Some((&worker, LEASE));
            let created = store.create(&id, &owner, change(1), lease).await.unwrap();
            report(format!("{id} {}", created.revision));
            for revision in 2..5 {
                let replaced = store.replace(&id, revision - 1, change(revision)).await;
                assert_eq!(replaced.unwrap(), Some(revision));
                report(format!("{id} {revision}"));
                assert!(store.renew(&id, &worker, LEASE).await.unwrap());
            }
            if task % 3 == 0 {
                report(format!("{id} removing"));
                assert!(store.remove(&id).await.unwrap());
                report(format!("{id} removed"));
            }
        }
    });
}

/// Returns the record that a child writes as a revision. Its size depends on the revision.
fn change(revision: u64) -> TaskRecord {
    let mut record = record_of(1000 + 20_000 * revision as usize);
    record.status_message = Some(revision.to_string());
    record
}

fn check(scratch: &Scratch, lines: &[String]) {
    let mut reports: BTreeMap<&str, Reported> = BTreeMap::new();
    for line in lines {
        let (id, change) = line.split_once(' ').unwrap();
        let report = reports.entry(id).or_default();
        match change {
            "removing" => report.removing = true,
            "removed" => report.removed = true,
            revision => report.revision = revision.parse().unwrap(),
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let store = scratch.open();
    for (id, report) in &reports {
        let number = id.split('-').nth(1).unwrap();
        let loaded = runtime.block_on(store.load(id, &user(number))).unwrap();
        let Some(task) = loaded else {
            assert!(report.removing, "{id}: {report:?} is lost");
            continue;
        };
        assert!(!report.removed, "{id} is removed");
        // The change after the last report may have happened, or not.
        let possible = [report.revision, report.revision + 1];
        assert!(possible.contains(&task.revision), "{id}: {report:?}");
        let expected = change(task.revision);
        assert_eq!(task.record.status_message, expected.status_message, "{id}");
        assert_eq!(task.record.outcome, expected.outcome, "{id}");
    }
    // Also the files whose changes were not acknowledged are complete.
    for name in scratch.names().iter().filter(|name| is_task_file(name)) {
        let content = read_content(&scratch.directory().join(name)).unwrap();
        assert!(content.unwrap().decode_record().is_ok(), "{name}");
    }
}
