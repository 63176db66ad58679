//! A server in this process whose tool calls become tasks. Its responses come from a script, in both designs.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The id of the task.
pub(super) const TASK: &str = "task-1";

/// Returns the result of a request, or an error object. The number counts earlier requests of the method.
type Script = dyn Fn(&str, usize, &Value) -> Result<Value, Value> + Send + Sync;

/// A running server, until it is dropped.
pub(super) struct TaskServer {
    address: std::net::SocketAddr,
    messages: Arc<Mutex<Vec<Value>>>,
    serving: JoinHandle<()>,
}

impl TaskServer {
    pub(super) async fn start(
        script: impl Fn(&str, usize, &Value) -> Result<Value, Value> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("the listener is bound");
        let messages = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&messages);
        let script: Arc<Script> = Arc::new(script);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, recorded) = (Arc::clone(&script), Arc::clone(&recorded));
                tokio::spawn(async move {
                    // A client may disconnect at any time.
                    let _ = serve(stream, &*script, &recorded).await;
                });
            }
        });
        Self {
            address,
            messages,
            serving,
        }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Returns the parameters of all requests of a method.
    pub(super) fn params_of(&self, method: &str) -> Vec<Value> {
        let messages = self.messages.lock().expect("no panic");
        let of_method = messages
            .iter()
            .filter(|message| message["method"] == method);
        of_method.map(|message| message["params"].clone()).collect()
    }
}

impl Drop for TaskServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(
    stream: TcpStream,
    script: &Script,
    recorded: &Mutex<Vec<Value>>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut length = 0;
        let mut is_post = false;
        loop {
            let mut line = String::new();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(());
            }
            is_post |= line.starts_with("POST ");
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let response = match (is_post, message.get("id")) {
            (false, _) => "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n".to_owned(),
            (true, None) => "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned(),
            (true, Some(id)) => {
                let method = message["method"].as_str().unwrap_or_default();
                let earlier = {
                    let mut recorded = recorded.lock().expect("no panic");
                    let earlier = recorded.iter().filter(|other| other["method"] == method);
                    let earlier = earlier.count();
                    recorded.push(message.clone());
                    earlier
                };
                let body = match script(method, earlier, &message["params"]) {
                    Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                    Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
                };
                let body = body.to_string();
                format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                )
            }
        };
        stream.write_all(response.as_bytes()).await?;
    }
}

/// Returns a task of the extension with this status and these members.
pub(super) fn task(status: &str, members: Value) -> Value {
    let mut task = json!({
        "resultType": "complete",
        "taskId": TASK,
        "status": status,
        "createdAt": "2026-11-17T10:00:00Z",
        "lastUpdatedAt": "2026-11-17T10:00:05Z",
        "ttlMs": 3_600_000,
        "pollIntervalMs": 100,
    });
    for (name, value) in members.as_object().expect("an object") {
        task[name] = value.clone();
    }
    task
}

/// Returns the result of a tool with one text.
pub(super) fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

pub(super) fn unknown(method: &str) -> Value {
    json!({"code": -32601, "message": format!("unknown method {method}")})
}

/// The script of a modern server with the tool `render`, for all methods but those of tasks.
pub(super) fn modern(method: &str) -> Result<Value, Value> {
    match method {
        "server/discover" => Ok(json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
        })),
        "tools/list" => Ok(json!({
            "resultType": "complete",
            "tools": [{"name": "render", "inputSchema": {"type": "object"}}],
        })),
        "tools/call" => Ok(task("working", json!({"resultType": "task"}))),
        method => Err(unknown(method)),
    }
}

/// The script of a 2025-11-25 server, for all methods but those of tasks.
pub(super) fn legacy(method: &str) -> Result<Value, Value> {
    let execution = json!({"taskSupport": "required"});
    match method {
        "initialize" => Ok(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "tools": {},
                "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
            },
            "serverInfo": {"name": "old", "version": "1"},
        })),
        "tools/list" => Ok(json!({
            "tools": [{"name": "render", "inputSchema": {"type": "object"}, "execution": execution}],
        })),
        "tools/call" => Ok(json!({"task": core_task("working")})),
        method => Err(unknown(method)),
    }
}

/// Returns a task of 2025-11-25.
pub(super) fn core_task(status: &str) -> Value {
    json!({
        "taskId": TASK,
        "status": status,
        "createdAt": "2025-11-25T10:00:00Z",
        "lastUpdatedAt": "2025-11-25T10:00:05Z",
        "ttl": 60_000,
        "pollInterval": 100,
    })
}
