//! A case of the comparison: what is measured, and how much of it.

use super::contestant::Contestant;
use super::counted;
use super::size::Size;
use crate::load::{Protocol, Workload};

/// The number of files that a server needs besides one per stream.
const OTHER_FILES: u64 = 100;

/// A case of the comparison.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    /// The name on the command line and in JSON.
    pub(crate) name: &'static str,
    /// The description for people.
    pub(crate) about: &'static str,
    pub(crate) work: Work,
}

impl Case {
    /// Returns the reason why the case cannot run here, if any.
    pub(crate) fn skip_reason(&self) -> Option<&'static str> {
        match self.work {
            Work::Counted(..) => counted::skip_reason(),
            _ => None,
        }
    }

    /// Returns the sizes. Each is its own row. Most cases have none.
    pub(crate) fn sizes(&self) -> &'static [Size] {
        match self.work {
            Work::Http(work) => work.sizes,
            Work::Counted(CountedPath::Http(_, sizes) | CountedPath::InProcess(sizes), _) => sizes,
            _ => &[],
        }
    }

    /// Returns the number of files that a server may have open, if it is large.
    pub(crate) fn open_files(&self, share: usize) -> Option<u64> {
        let streams = match self.work {
            Work::Streams { streams, .. } => streams.of(Contestant::Limit, share),
            Work::Http(_) | Work::Counted(..) => {
                let sizes = self.sizes().iter();
                sizes.filter_map(|size| size.streams()).max()? / share.max(1)
            }
            _ => return None,
        };
        Some(streams as u64 + OTHER_FILES)
    }

    /// Returns `true` if servers and load may use all cores.
    pub(crate) fn uses_all_cores(&self) -> bool {
        matches!(self.sizes(), [Size::Threads(_), ..])
    }

    pub(crate) fn takes_part(&self, contestant: Contestant) -> bool {
        match self.work {
            Work::Http(HttpWork {
                requests: amounts, ..
            })
            | Work::StdioSequential(amounts)
            | Work::StdioPipelined(amounts)
            | Work::Sessions(amounts)
            | Work::Streams {
                streams: amounts, ..
            }
            | Work::Counted(_, amounts) => amounts.takes_part(contestant),
            Work::StdioFirstResponse | Work::Client { .. } => true,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Work {
    Http(HttpWork),
    /// Calls of `echo` over stdio, one after the other.
    StdioSequential(Amounts),
    /// Calls of `echo` over stdio, all at once.
    StdioPipelined(Amounts),
    /// The time from the start of the process to its first response.
    StdioFirstResponse,
    /// Idle legacy sessions.
    Sessions(Amounts),
    /// This many idle streams, and changes for all of them.
    Streams {
        streams: Amounts,
        changes: usize,
    },
    /// Calls of `echo` whose instructions and allocations are counted.
    Counted(CountedPath, Amounts),
    /// Clients with the same server and this many concurrent calls.
    Client {
        at_once: usize,
    },
}

/// The path of counted calls to the server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CountedPath {
    Http(Workload, &'static [Size]),
    /// A modern call that toolwire passes to hyper.
    HttpFullPath,
    Stdio,
    /// From bytes to bytes, with servers of these sizes.
    InProcess(&'static [Size]),
}

/// The server of a case over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HttpServer {
    /// HTTP/1.1.
    Plain,
    /// HTTP/1.1, with `subscriptions/listen` streams.
    Streams,
    /// HTTP/2 with prior knowledge.
    Http2,
    /// HTTP/1.1 over TLS.
    Tls,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct HttpWork {
    pub(crate) workload: Workload,
    pub(crate) server: HttpServer,
    pub(crate) protocol: Protocol,
    /// The number of concurrent callers.
    pub(crate) connections: usize,
    /// The number of tools of the server, unless it is a size of the case.
    pub(crate) tools: usize,
    /// The sizes of the server. Each is its own row. Most cases have none.
    pub(crate) sizes: &'static [Size],
    pub(crate) requests: Amounts,
}

impl HttpWork {
    /// Creates the work for servers with three tools on persistent connections of HTTP/1.1.
    pub(super) const fn new(workload: Workload, connections: usize, requests: Amounts) -> Self {
        Self {
            workload,
            server: HttpServer::Plain,
            protocol: Protocol::Http1,
            connections,
            tools: 3,
            sizes: &[],
            requests,
        }
    }

    pub(super) const fn with_tools(mut self, tools: usize) -> Self {
        self.tools = tools;
        self
    }

    pub(super) const fn with_sizes(mut self, sizes: &'static [Size]) -> Self {
        self.sizes = sizes;
        self
    }

    pub(super) const fn beside_streams(mut self, sizes: &'static [Size]) -> Self {
        self.server = HttpServer::Streams;
        self.sizes = sizes;
        self
    }

    pub(super) const fn over_http2(mut self) -> Self {
        self.server = HttpServer::Http2;
        self.protocol = Protocol::Http2;
        self
    }

    pub(super) const fn over_tls(mut self) -> Self {
        self.server = HttpServer::Tls;
        self
    }

    pub(super) const fn with_protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }
}

/// The work of each contestant in a round, about the same time for all of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Amounts {
    /// The work of toolwire and the limits.
    fast: usize,
    rmcp: usize,
    slow: usize,
}

impl Amounts {
    /// A contestant whose amount is 0 does not take part.
    pub(super) const fn new(fast: usize, rmcp: usize, slow: usize) -> Self {
        Self { fast, rmcp, slow }
    }

    /// Returns one `share`th of the work, at least one.
    pub(crate) fn of(self, contestant: Contestant, share: usize) -> usize {
        (self.all_of(contestant) / share.max(1)).max(1)
    }

    fn takes_part(self, contestant: Contestant) -> bool {
        self.all_of(contestant) > 0
    }

    fn all_of(self, contestant: Contestant) -> usize {
        match contestant {
            Contestant::Toolwire | Contestant::Before | Contestant::Limit => self.fast,
            Contestant::Rmcp => self.rmcp,
            Contestant::Typescript | Contestant::Python => self.slow,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_of_the_work_is_at_least_one() {
        let amounts = Amounts::new(100, 10, 1);
        assert_eq!(amounts.of(Contestant::Limit, 1), 100);
        assert_eq!(amounts.of(Contestant::Rmcp, 5), 2);
        assert_eq!(amounts.of(Contestant::Python, 5), 1);
    }

    #[test]
    fn contestant_without_work_does_not_take_part() {
        let amounts = Amounts::new(100, 10, 0);
        assert!(amounts.takes_part(Contestant::Rmcp));
        assert!(!amounts.takes_part(Contestant::Python));
    }
}
