//! Sends requests to a cluster.
//!
//! The library would repeat a request after every error, also if a node may have executed it. So it repeats none, and this
//! module repeats only requests that no node has executed.

use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::SingleNodeRoutingInfo;
use redis::{Cmd, ErrorKind, RedisError, RedisResult, ServerErrorKind, Value, pipe};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::connection::backoff::Backoff;
use crate::connection::request::Request;

/// How often a request is sent again that no node has executed.
const MAX_REPETITIONS: usize = 3;

/// The maximum number of independent commands that are sent at the same time.
const CONCURRENT_COMMANDS: usize = 256;

/// Sends a request to the primary of its keys, and follows redirections to other primaries.
pub(super) async fn send(
    request: &Request<'_>,
    connection: &mut ClusterConnection,
) -> RedisResult<Value> {
    if let Request::Commands(commands) = request {
        let commands: Vec<&Cmd> = commands.cmd_iter().collect();
        let mut responses = Vec::with_capacity(commands.len());
        for commands in commands.chunks(CONCURRENT_COMMANDS) {
            responses.extend(send_concurrently(commands, connection).await?);
        }
        return Ok(Value::Array(responses));
    }
    send_to_primary(request, connection).await
}

/// Sends commands whose keys may be on several primaries, and returns their responses in the same order.
async fn send_concurrently(
    commands: &[&Cmd],
    connection: &ClusterConnection,
) -> RedisResult<Vec<Value>> {
    let mut running = JoinSet::new();
    for (position, command) in commands.iter().enumerate() {
        let (command, mut connection) = ((*command).clone(), connection.clone());
        running.spawn(async move {
            let request = Request::Command(&command);
            (position, send_to_primary(&request, &mut connection).await)
        });
    }
    let mut responses = vec![Value::Nil; commands.len()];
    while let Some(joined) = running.join_next().await {
        let (position, response) = joined.map_err(std::io::Error::other)?;
        if let Some(place) = responses.get_mut(position) {
            *place = response?;
        }
    }
    Ok(responses)
}

async fn send_to_primary(
    request: &Request<'_>,
    connection: &mut ClusterConnection,
) -> RedisResult<Value> {
    let mut backoff = Backoff::new();
    let mut response = request.send_one(connection).await;
    for _ in 0..MAX_REPETITIONS {
        let Err(error) = &response else {
            return response;
        };
        if !is_unexecuted(error) {
            return response;
        }
        response = match Redirection::of(error) {
            Some(redirection) => redirection.follow(request, connection).await,
            None => {
                sleep(backoff.next_pause()).await;
                request.send_one(connection).await
            }
        };
    }
    response
}

/// Returns `true` if the error means that no node has executed the request, and that it may succeed soon.
fn is_unexecuted(error: &RedisError) -> bool {
    use ServerErrorKind::{Ask, BusyLoading, ClusterDown, MasterDown, Moved, ReadOnly, TryAgain};

    match error.kind() {
        ErrorKind::ClusterConnectionNotFound => true,
        ErrorKind::Server(kind) => matches!(
            kind,
            Moved | Ask | TryAgain | ClusterDown | MasterDown | BusyLoading | ReadOnly
        ),
        _ => false,
    }
}

/// The primary to which a request is redirected.
struct Redirection {
    node: SingleNodeRoutingInfo,
    /// Whether the slot of the keys is still moving there, so that the primary executes only requests that say so.
    is_moving: bool,
}

impl Redirection {
    fn of(error: &RedisError) -> Option<Self> {
        let (address, _) = error.redirect_node()?;
        let (host, port) = address.rsplit_once(':')?;
        Some(Self {
            node: SingleNodeRoutingInfo::ByAddress {
                host: host.to_owned(),
                port: port.parse().ok()?,
            },
            is_moving: error.kind() == ErrorKind::Server(ServerErrorKind::Ask),
        })
    }

    /// Sends a request to this primary.
    async fn follow(
        self,
        request: &Request<'_>,
        connection: &mut ClusterConnection,
    ) -> RedisResult<Value> {
        let mut commands = pipe();
        if self.is_moving {
            commands.cmd("ASKING");
        }
        match request {
            Request::Command(command) => {
                commands.add_command((*command).clone());
            }
            Request::Script(script) => {
                // This primary may not know the script.
                script.load_async(connection).await?;
                commands.invoke_script(script);
            }
            Request::Commands(several) => {
                for command in several.cmd_iter() {
                    commands.add_command(command.clone());
                }
            }
        }
        let count = commands.cmd_iter().count();
        let responses = connection.route_pipeline(commands, 0, count, self.node);
        let last = responses.await?.into_iter().next_back();
        last.unwrap_or(Value::Nil).extract_error()
    }
}
