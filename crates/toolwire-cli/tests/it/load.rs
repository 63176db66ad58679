//! Many concurrent calls: every call gets its own response, and memory stays constant.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};

use crate::process::{Demo, Era, within};

/// The part of a response that identifies it.
#[derive(Deserialize)]
struct Echoed {
    id: i64,
    result: EchoedResult,
}

#[derive(Deserialize)]
struct EchoedResult {
    content: [EchoedText; 1],
}

#[derive(Deserialize)]
struct EchoedText {
    text: String,
}

/// Returns the text of the call with this id. Lengths differ, so that responses cannot match by accident.
fn text_of(id: i64) -> String {
    format!("call {id} {}", "·".repeat((id % 23) as usize))
}

/// Writes calls without waiting for responses.
async fn write_calls(mut input: ChildStdin, era: Era, ids: std::ops::Range<i64>) -> ChildStdin {
    const BATCH_BYTES: usize = 32 * 1024;
    let mut bytes = Vec::with_capacity(2 * BATCH_BYTES);
    for id in ids {
        let call = era.call(id, "echo", json!({"text": text_of(id)}));
        bytes.extend_from_slice(format!("{call}\n").as_bytes());
        if bytes.len() > BATCH_BYTES {
            within(input.write_all(&bytes))
                .await
                .expect("the server reads");
            bytes.clear();
        }
    }
    within(input.write_all(&bytes))
        .await
        .expect("the server reads");
    input
}

async fn next_echo(output: &mut BufReader<ChildStdout>, line: &mut Vec<u8>) -> Echoed {
    line.clear();
    within(output.read_until(b'\n', line))
        .await
        .expect("the server writes");
    serde_json::from_slice(line)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(line)))
}

/// Sends `count` calls as fast as the server reads them, and reads the responses. Calls `on_response` with the number
/// of responses so far.
async fn pipeline(demo: &mut Demo, count: i64, mut on_response: impl FnMut(i64)) {
    const FIRST: i64 = 1_000;
    let era = demo.era();
    let (input, mut output) = demo.take_pipes();
    let writer = tokio::spawn(write_calls(input, era, FIRST..FIRST + count));
    let mut seen = vec![false; count as usize];
    let mut line = Vec::new();
    for received in 1..=count {
        let echoed = next_echo(&mut output, &mut line).await;
        let [EchoedText { text }] = echoed.result.content;
        assert_eq!(text, text_of(echoed.id));
        let seen = &mut seen[(echoed.id - FIRST) as usize];
        assert!(!*seen, "{} got two responses", echoed.id);
        *seen = true;
        on_response(received);
    }
    let input = writer.await.expect("the writer does not panic");
    demo.return_pipes(input, output);
}

/// The memory of a process, in KiB.
#[derive(Debug, Clone, Copy)]
struct Memory {
    resident: u64,
    peak: u64,
}

impl Memory {
    /// Returns the memory of a process, or `None` on systems without `/proc`.
    fn of(process: u32) -> Option<Self> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let status = std::fs::read_to_string(format!("/proc/{process}/status"))
            .expect("the process still runs");
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let size = line.and_then(|line| line.trim().strip_suffix(" kB"));
            size.and_then(|size| size.parse().ok())
                .unwrap_or_else(|| panic!("no {name} in {status}"))
        };
        Some(Self {
            resident: field("VmRSS:"),
            peak: field("VmHWM:"),
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pipelined_calls_all_get_responses_in_constant_memory() {
    for era in Era::BOTH {
        let mut demo = Demo::start(era).await;
        let process = demo.process_id();
        let (mut early, mut late) = (None, None);
        pipeline(&mut demo, 40_000, |received| match received {
            10_000 => early = Memory::of(process),
            40_000 => late = Memory::of(process),
            _ => {}
        })
        .await;
        if let (Some(early), Some(late)) = (early, late) {
            let growth = late.resident.saturating_sub(early.resident);
            assert!(growth < 3 * 1024, "{era:?}: {early:?}, then {late:?}");
            assert!(late.peak < 64 * 1024, "{era:?}: {late:?}");
        }
        demo.end_successfully().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_concurrent_calls_all_get_responses() {
    const CALLS: i64 = 200;
    let mut demo = Demo::start(Era::Modern).await;
    for round in 0..8 {
        let text_of = |id: i64| format!("{round:02} {id:04} ").repeat(64 * 1024 / 8);
        let ids: Vec<i64> = (0..CALLS).map(|call| 1 + round * CALLS + call).collect();
        let (mut input, mut output) = demo.take_pipes();
        let calls: Vec<String> = ids
            .iter()
            .map(|id| {
                format!(
                    "{}\n",
                    Era::Modern.call(*id, "echo", json!({"text": text_of(*id)}))
                )
            })
            .collect();
        let writer = tokio::spawn(async move {
            for call in calls {
                within(input.write_all(call.as_bytes()))
                    .await
                    .expect("the server reads");
            }
            input
        });
        let mut waiting: HashSet<i64> = ids.into_iter().collect();
        let mut line = Vec::new();
        while !waiting.is_empty() {
            let echoed = next_echo(&mut output, &mut line).await;
            assert!(
                waiting.remove(&echoed.id),
                "{} got two responses",
                echoed.id
            );
            let [EchoedText { text }] = echoed.result.content;
            assert!(text == text_of(echoed.id), "{} got another text", echoed.id);
        }
        let input = writer.await.expect("the writer does not panic");
        demo.return_pipes(input, output);
    }
    demo.end_successfully().await;
}
