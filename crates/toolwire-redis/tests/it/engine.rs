//! An engine that the test starts and stops.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::{sleep, timeout};
use toolwire_redis::{Redis, RedisOptions};

/// The names of the engine, in the order in which they are tried.
const PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];

/// A running engine with its own directory and Unix socket. It ends when it is dropped.
pub(crate) struct Engine {
    directory: PathBuf,
    arguments: Vec<String>,
    process: Child,
}

impl Engine {
    /// Starts an engine without persistence.
    pub(crate) async fn start() -> Self {
        Self::start_with(&["--save", "", "--appendonly", "no"]).await
    }

    /// Starts an engine with these arguments.
    pub(crate) async fn start_with(arguments: &[&str]) -> Self {
        let directory = new_directory();
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        let process = spawn(&directory, &arguments);
        let engine = Self {
            directory,
            arguments,
            process,
        };
        engine.wait_until_it_responds().await;
        engine
    }

    pub(crate) fn url(&self) -> String {
        format!("redis+unix://{}", self.directory.join("socket").display())
    }

    /// Connects with the default options.
    pub(crate) async fn connect(&self) -> Redis {
        self.connect_with(RedisOptions::new("test")).await
    }

    pub(crate) async fn connect_with(&self, options: RedisOptions) -> Redis {
        let connected = Redis::connect(&self.url(), options).await;
        connected.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns a connection that is independent of the stores.
    pub(crate) async fn commands(&self) -> redis::aio::MultiplexedConnection {
        let client = redis::Client::open(self.url()).expect("a valid URL");
        let connection = client.get_multiplexed_async_connection().await;
        connection.expect("the engine accepts connections")
    }

    /// Ends the engine at once.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("the engine runs");
        self.process.wait().expect("the engine ends");
    }

    /// Starts the engine again in its directory.
    pub(crate) async fn restart(&mut self) {
        self.process = spawn(&self.directory, &self.arguments);
        self.wait_until_it_responds().await;
    }

    /// Stops the engine without closing its connections, or lets it continue.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.process);
        kill_process(pid, signal).expect("the engine runs");
    }

    async fn wait_until_it_responds(&self) {
        let responds = async {
            while !responds(&self.url()).await {
                sleep(Duration::from_millis(20)).await;
            }
        };
        let in_time = timeout(Duration::from_secs(30), responds).await;
        assert!(in_time.is_ok(), "the engine did not start");
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // The engine may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Checks whether an engine responds. It may reject the command because it needs a password.
async fn responds(url: &str) -> bool {
    let client = redis::Client::open(url).expect("a valid URL");
    let Ok(mut connection) = client.get_multiplexed_async_connection().await else {
        return false;
    };
    match redis::cmd("PING").exec_async(&mut connection).await {
        Ok(()) => true,
        Err(error) => error.code() == Some("NOAUTH"),
    }
}

fn new_directory() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // The path of a socket may have about 100 bytes.
    let name = format!("toolwire-redis-{}-{number}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&directory).expect("a new directory");
    directory
}

fn spawn(directory: &Path, arguments: &[String]) -> Child {
    for program in PROGRAMS {
        let started = Command::new(program)
            .args(["--port", "0", "--unixsocket"])
            .arg(directory.join("socket"))
            .arg("--dir")
            .arg(directory)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn();
        match started {
            Ok(process) => return process,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => panic!("{program} cannot be started: {error}"),
        }
    }
    panic!("install redis-server or valkey-server (on Debian: `apt-get install redis-server`)");
}
