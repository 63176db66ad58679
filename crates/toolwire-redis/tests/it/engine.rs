//! Connections to an engine that the test starts and stops.

use rustix::process::{Pid, Signal, kill_process};
use toolwire_redis::{Redis, RedisOptions};
use toolwire_tests::engine;

/// The user of the stores, with exactly the permissions that the guide names.
const USER: &str = "--user stores on >secret ~tw:* &tw:* +@read +@write +@scripting +@pubsub +@connection \
                    -@dangerous +info +time";

/// A running engine. The stores connect as a user with few permissions.
pub(crate) struct Engine(engine::Engine);

impl Engine {
    /// Starts an engine without persistence.
    pub(crate) fn start() -> Self {
        Self::start_with(&engine::IN_MEMORY)
    }

    /// Starts an engine that loses no acknowledged write.
    pub(crate) fn start_persistent() -> Self {
        Self::start_with(&engine::PERSISTENT)
    }

    /// Starts an engine with these arguments.
    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        let arguments: Vec<_> = arguments.iter().copied().chain(USER.split(' ')).collect();
        let engine = engine::Engine::start(&arguments);
        Self(engine.unwrap_or_else(|error| panic!("{error}")))
    }

    /// Starts Valkey without persistence.
    pub(crate) fn start_valkey() -> Self {
        let arguments: Vec<_> = engine::IN_MEMORY
            .into_iter()
            .chain(USER.split(' '))
            .collect();
        let engine = engine::Engine::start_valkey(&arguments);
        Self(engine.unwrap_or_else(|error| panic!("{error}")))
    }

    /// Starts a sentinel with this configuration.
    pub(crate) fn start_sentinel(configuration: &str) -> Self {
        let engine = engine::Engine::start_sentinel(configuration);
        Self(engine.unwrap_or_else(|error| panic!("{error}")))
    }

    /// Returns the URL for the stores.
    pub(crate) fn url(&self) -> String {
        format!("{}?user=stores&pass=secret", self.0.url())
    }

    /// Returns the URL without a user and a password.
    pub(crate) fn url_without_user(&self) -> String {
        self.0.url()
    }

    /// Returns the path of the Unix socket of the engine.
    pub(crate) fn socket(&self) -> std::path::PathBuf {
        self.0.socket()
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
        let client = redis::Client::open(self.url_without_user()).expect("a valid URL");
        let connection = client.get_multiplexed_async_connection().await;
        connection.expect("the engine accepts connections")
    }

    /// Returns the most memory that the engine has used, in bytes.
    pub(crate) async fn peak_memory(&self) -> usize {
        let mut commands = self.commands().await;
        let mut info = redis::cmd("INFO");
        info.arg("memory");
        let info: redis::InfoDict = info.query_async(&mut commands).await.expect("the memory");
        info.get("used_memory_peak").expect("the peak")
    }

    /// Ends the engine at once.
    pub(crate) fn kill(&mut self) {
        self.0.kill();
    }

    /// Starts the engine again with the data in its directory.
    pub(crate) fn restart(&mut self) {
        self.0.restart().expect("the engine starts again");
    }

    /// Stops the engine without closing its connections, or lets it continue.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.0.id()).expect("a process id");
        let pid = Pid::from_raw(id).expect("a process id");
        kill_process(pid, signal).expect("the engine runs");
    }
}

/// Returns a port that no process uses.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}
