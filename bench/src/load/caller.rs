//! One of the concurrent callers of the load: how it reaches the server.

use std::io;

use super::Plan;
use super::connection::{Connection, Destination, Response};
use super::http2::Http2Caller;

/// How the callers use connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[non_exhaustive]
pub enum Protocol {
    /// HTTP/1.1, a persistent connection for each caller.
    Http1,
    /// HTTP/1.1, a new connection for each request.
    Http1PerRequest,
    /// HTTP/2 with prior knowledge, up to 32 callers on a connection.
    Http2,
}

/// The number of callers that share a connection of HTTP/2.
const CALLERS_PER_CONNECTION: usize = 32;

/// A caller with one request in flight at a time.
pub(crate) enum Caller {
    Http1(Connection),
    Http1PerRequest(Connection, Destination),
    Http2(Http2Caller),
}

impl Caller {
    /// Opens the connections of all callers of the plan.
    pub(crate) async fn open_all(destination: &Destination, plan: &Plan) -> io::Result<Vec<Self>> {
        let count = plan.connections.max(1);
        let shared = if plan.one_session {
            let mut connection = Connection::connect(destination).await?;
            Some(connection.begin_session(&destination.target).await?)
        } else {
            None
        };
        let mut callers = Vec::with_capacity(count);
        while callers.len() < count {
            match plan.protocol {
                Protocol::Http1 | Protocol::Http1PerRequest => {
                    let connection = match &shared {
                        Some(session) => {
                            // Requests that are in flight in one session need different ids.
                            let id = callers.len() as i64 + 1;
                            let session = session.as_deref();
                            Connection::open_in(session, destination, &plan.workload, id).await?
                        }
                        None => Connection::open(destination, &plan.workload).await?,
                    };
                    callers.push(if plan.protocol == Protocol::Http1 {
                        Self::Http1(connection)
                    } else {
                        Self::Http1PerRequest(connection, destination.clone())
                    });
                }
                Protocol::Http2 => {
                    let some = CALLERS_PER_CONNECTION.min(count - callers.len());
                    let opened = Http2Caller::open(destination, &plan.workload, some).await?;
                    callers.extend(opened.into_iter().map(Self::Http2));
                }
            }
        }
        Ok(callers)
    }

    /// Sends the request and waits for the complete response.
    pub(crate) async fn exchange(&mut self) -> io::Result<Response<'_>> {
        match self {
            Self::Http1(connection) => connection.exchange().await,
            Self::Http1PerRequest(connection, destination) => {
                connection.reconnect(destination).await?;
                connection.exchange().await
            }
            Self::Http2(caller) => caller.exchange().await,
        }
    }
}
