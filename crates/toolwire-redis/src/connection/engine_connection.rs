//! An open connection for commands.

use redis::aio::MultiplexedConnection;
use redis::cluster_async::ClusterConnection;
use redis::{RedisResult, Value};

use crate::connection::cluster;
use crate::connection::request::Request;

/// An open connection for commands. Clones share it.
#[derive(Clone)]
pub(crate) enum EngineConnection {
    Server(MultiplexedConnection),
    /// One connection to each primary. It follows slots that move.
    Cluster(ClusterConnection),
}

impl EngineConnection {
    pub(crate) async fn send(&mut self, request: &Request<'_>) -> RedisResult<Value> {
        match self {
            Self::Server(connection) => request.send_one(connection).await,
            Self::Cluster(connection) => cluster::send(request, connection).await,
        }
    }
}
