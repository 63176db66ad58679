//! Worker processes of `conformance-server` that share a directory of tasks, one of which is killed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use serde_json::json;
use tokio::process::{Child, Command};
use toolwire::{Called, Client};
use toolwire_conformance::Fixture;

const TASKS: usize = 20;

/// The number of effects of each task.
const LINES: usize = 4;

/// The lease in seconds. A worker that does not renew it in time on a busy machine would count as lost.
const LEASE: &str = "5";

fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_conformance-server"))
}

fn start_worker(store: &str) -> Child {
    Command::new(binary())
        .args(["--worker", "--lease", LEASE, "--task-store", store])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("the worker starts")
}

/// The effects of all tasks: the task, the number of the effect, and the process.
fn effects(directory: &Path) -> Vec<[String; 3]> {
    // The file does not exist before the first effect.
    let text = fs::read_to_string(directory.join("lines")).unwrap_or_default();
    let effect = |line: &str| {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        words.try_into().expect("a line has three words")
    };
    text.lines().map(effect).collect()
}

async fn wait_until(what: &str, is_reached: impl Fn() -> bool) {
    let reached = async {
        while !is_reached() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let reached = tokio::time::timeout(Duration::from_secs(60), reached).await;
    assert!(reached.is_ok(), "{what}");
}

#[tokio::test]
async fn effects_of_competing_workers_happen_once_when_one_is_killed() {
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("tasks-workers");
    // It does not exist at the first run.
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(&root).expect("a directory for the test");
    let gate = root.join("gate");
    File::create(&gate).expect("a file in the directory");
    let store = root.join("store");
    let store = store.to_string_lossy();
    let front = ["--port", "0", "--queued", "--task-store", &store];
    let front = Fixture::start_with(binary(), &front).await;
    let front = front.unwrap_or_else(|problem| panic!("{problem}"));
    let client = Client::builder("workers", "1.0.0").with_tasks();
    let client = client.connect(front.url()).await;
    let client = client.expect("the server is reachable");

    let mut workers = vec![start_worker(&store), start_worker(&store)];
    let mut tasks = Vec::new();
    for number in 0..TASKS {
        let name = format!("task-{number}");
        let arguments = json!({"directory": root, "name": name, "lines": LINES});
        match client.call_tool("append_job", arguments).as_task().await {
            Ok(Called::Task(task)) => tasks.push((name, task)),
            other => panic!("expected a task: {other:?}"),
        }
    }
    // Each worker has begun some tasks, and none has completed one.
    wait_until("both workers have begun", || {
        let effects = effects(&root);
        let processes: BTreeSet<_> = effects.iter().map(|[.., process]| process).collect();
        processes.len() == 2
    })
    .await;
    fs::remove_file(&gate).expect("the file exists");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let random = now.expect("a clock after 1970").subsec_micros() as usize;
    let killed_after = random % (TASKS * LINES / 2);
    wait_until("the workers work", || effects(&root).len() >= killed_after).await;
    // No effect happens while this lock is held, so none is interrupted.
    let lock = File::create(root.join("lock")).expect("a file in the directory");
    let lock = tokio::task::spawn_blocking(move || lock.lock().map(|()| lock)).await;
    let lock = lock.expect("no panic").expect("the lock is free in time");
    let killed = workers.swap_remove(random / 100 % 2).kill().await;
    killed.expect("the worker is killed");
    drop(lock);

    for (name, task) in &tasks {
        let result = task.wait().await;
        let result = result.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(result.all_text(), *name);
    }
    let mut happened: Vec<_> = effects(&root)
        .into_iter()
        .map(|[task, line, _]| format!("{task} {line}"))
        .collect();
    happened.sort();
    let expected = tasks.iter().map(|(name, _)| name);
    let mut expected: Vec<_> = expected
        .flat_map(|name| (0..LINES).map(move |line| format!("{name} {line}")))
        .collect();
    expected.sort();
    assert_eq!(happened, expected, "killed after {killed_after} effects");
}
