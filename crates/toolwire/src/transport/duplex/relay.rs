//! Who reads a connection: one task at a time, and another when that one cannot.
//!
//! The task that reads also gives each request its first turn, which is all that most handlers need: so a burst is worked
//! off without a task, a queue or a wake-up for each call. While a handler has its turn, the connection is lent to the
//! relay. A handler that holds its thread holds up nobody else for long: another task takes the connection and reads on.
//! The one that was relieved takes it again when the other is held up in turn; otherwise it ends.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::engine::Outcome;
use crate::transport::duplex::reader::Reader;
use crate::transport::duplex::running::{Delivery, Entered, RunningRequest, Work};

/// How often somebody looks whether a handler holds its thread.
const PATIENCE: Duration = Duration::from_millis(2);

/// Fewer turns than this between two looks mean that handlers need their threads for long.
const BRISK: u64 = 4;

/// What the readers of one connection share.
pub(super) struct Relay {
    delivery: Arc<Delivery>,
    lent: Mutex<Lent>,
    /// Turns are being given.
    began: Notify,
    /// One who was relieved is done.
    done: Notify,
}

#[derive(Default)]
struct Lent {
    /// The connection, while a handler has its turn.
    reader: Option<Box<Reader>>,
    /// How many turns were given; the last one may go on.
    turns: u64,
    /// Somebody looks at this from time to time.
    is_watched: bool,
    /// The turns of those who were relieved and are not done, with the requests that they have not taken yet.
    relieved: HashMap<u64, Option<Entered>>,
}

/// How a reader ended.
enum Left {
    WithTheConnection,
    Relieved,
}

impl Relay {
    pub(super) fn new(delivery: Arc<Delivery>) -> Arc<Self> {
        Arc::new(Self {
            delivery,
            lent: Mutex::default(),
            began: Notify::new(),
            done: Notify::new(),
        })
    }

    /// Reads a connection to its end. Dropping the future ends it at once.
    ///
    /// # Panics
    /// When a reader did: at once when the connection was lost with it, otherwise when the connection ends.
    pub(super) async fn run(self: Arc<Self>, reader: Reader) {
        let _end = End(&self);
        let mut readers = JoinSet::new();
        let mut panic = None;
        readers.spawn(read(Arc::clone(&self), Box::new(reader)));
        loop {
            tokio::select! {
                left = readers.join_next() => match left {
                    Some(Ok(Left::Relieved)) => {}
                    // Others may still hold their threads. Nobody waits for them any more.
                    Some(Ok(Left::WithTheConnection)) | None => break,
                    Some(Err(error)) => {
                        panic = panic.or(error.try_into_panic().ok());
                        if self.delivery.out.is_closed() {
                            break;
                        }
                    }
                },
                reader = self.held_up() => {
                    readers.spawn(read(Arc::clone(&self), reader));
                    rouse();
                }
            }
        }
        if let Some(panic) = panic {
            std::panic::resume_unwind(panic);
        }
    }

    /// Sees to it that somebody watches.
    async fn begin(&self) {
        self.lock().is_watched = true;
        self.began.notify_one();
        rouse();
        // Whoever watches has to set its clock before a handler can hold the thread.
        tokio::task::yield_now().await;
    }

    /// Waits until nobody who was relieved works any more.
    pub(super) async fn all_done(&self) {
        while !self.lock().relieved.is_empty() {
            // There is one waiter, for which a notice that comes early is kept.
            self.done.notified().await;
        }
    }

    /// Waits until a handler holds its thread, and takes the connection from whoever lent it.
    async fn held_up(&self) -> Box<Reader> {
        loop {
            if !self.lock().is_watched {
                self.began.notified().await;
            }
            let mut seen = self.lock().turns;
            // Where one handler holds its thread, the next may do so too.
            let mut was_lent = !self.lock().relieved.is_empty();
            loop {
                tokio::time::sleep(PATIENCE).await;
                let mut lent = match self.lent.try_lock() {
                    Ok(lent) => lent,
                    Err(TryLockError::Poisoned(lent)) => lent.into_inner(),
                    // Somebody reads right now.
                    Err(TryLockError::WouldBlock) => {
                        was_lent = false;
                        continue;
                    }
                };
                let turns = lent.turns - seen;
                if was_lent
                    && turns < BRISK
                    && let Some(reader) = lent.relieve()
                {
                    return reader;
                }
                was_lent = lent.reader.is_some();
                seen = lent.turns;
                if turns == 0 && !was_lent {
                    lent.is_watched = false;
                    break;
                }
            }
        }
    }

    /// Lends the connection for a turn. It comes back while nobody watches.
    fn lend(&self, reader: Box<Reader>) -> Result<Loan<'_>, Box<Reader>> {
        let mut lent = self.lock();
        if !lent.is_watched {
            return Err(reader);
        }
        lent.turns += 1;
        lent.reader = Some(reader);
        Ok(Loan {
            relay: self,
            turn: lent.turns,
            is_over: false,
        })
    }

    /// The request of a turn, when somebody else reads by now.
    fn left(&self, turn: u64) -> Option<Entered> {
        self.lock().relieved.get_mut(&turn)?.take()
    }

    fn lock(&self) -> MutexGuard<'_, Lent> {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lent {
    /// The connection, when it is lent for this turn.
    fn reader_in(&mut self, turn: u64) -> Option<&mut Reader> {
        match self.turns == turn {
            true => self.reader.as_deref_mut(),
            false => None,
        }
    }

    /// Takes the connection from whoever has lent it.
    fn relieve(&mut self) -> Option<Box<Reader>> {
        let mut reader = self.reader.take()?;
        let request = reader.leave_turn();
        self.relieved.insert(self.turns, Some(request));
        Some(reader)
    }
}

/// Wakes another thread of the runtime, if one sleeps. Before a thread works it may be the one that looks after the timers
/// for all, and no other takes them over before it is woken: a handler that then holds the thread would stop them.
fn rouse() {
    // Two tasks are more than a thread keeps for itself, so that another is called to help.
    tokio::spawn(async {});
}

/// Reads until the connection ends, or somebody else reads it.
async fn read(relay: Arc<Relay>, mut reader: Box<Reader>) -> Left {
    while let Some(work) = reader.next_turn(&relay).await {
        let loan = loop {
            match relay.lend(reader) {
                Ok(loan) => break loan,
                Err(back) => reader = back,
            }
            relay.begin().await;
        };
        match give_turns(loan, work).await {
            Some(back) => reader = back,
            None => return Left::Relieved,
        }
    }
    Left::WithTheConnection
}

/// Gives turns while there are requests at hand. Returns the connection, unless somebody else reads it by then.
async fn give_turns(mut loan: Loan<'_>, mut work: Work) -> Option<Box<Reader>> {
    let relay = loan.relay;
    loop {
        let turn = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
        match loan.go_on(work, turn) {
            Next::Turn(next) => work = next,
            Next::Nothing(reader) => return Some(reader),
            Next::Relieved(work, turn) => {
                let was_held_up = turn.is_ready();
                if let Some(request) = relay.left(loan.turn) {
                    let request = RunningRequest::new(request, work);
                    request.go_on(turn, &relay.delivery).await;
                }
                drop(loan);
                return match was_held_up {
                    true => relay.lock().relieve(),
                    false => None,
                };
            }
        }
        // Everybody else on this thread has a right to it as well.
        tokio::task::consume_budget().await;
    }
}

/// The connection is lent for a turn. A turn that panics takes the connection with it, unless somebody else reads it by
/// then; and one who was relieved counts as done, whatever ended the turn.
struct Loan<'a> {
    relay: &'a Relay,
    /// Its number.
    turn: u64,
    /// The connection came back.
    is_over: bool,
}

/// What comes after a turn.
enum Next {
    /// The turn of the next request, for which the connection is lent again.
    Turn(Work),
    /// The connection came back: nothing can be done before something else happens.
    Nothing(Box<Reader>),
    /// Somebody else reads the connection.
    Relieved(Work, Poll<Outcome>),
}

impl Loan<'_> {
    /// Settles a turn and reads on. The lock is held meanwhile, so that one lock is all that a request costs.
    fn go_on(&mut self, work: Work, turn: Poll<Outcome>) -> Next {
        let mut lent = self.relay.lock();
        let Some(reader) = lent.reader_in(self.turn) else {
            return Next::Relieved(work, turn);
        };
        reader.settle(work, turn);
        if let Some(next) = reader.next_turn_now() {
            lent.turns += 1;
            self.turn = lent.turns;
            return Next::Turn(next);
        }
        let back = lent.reader.take();
        self.is_over = true;
        Next::Nothing(back.expect("it was lent a moment ago"))
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut lent = self.relay.lock();
        if lent.reader_in(self.turn).is_some() {
            let reader = lent.reader.take();
            drop(lent);
            drop(reader);
            return;
        }
        // There is none when the connection ended meanwhile.
        let relieved = lent.relieved.remove(&self.turn);
        drop(lent);
        if let Some(request) = relieved.flatten() {
            request.give_up(&self.relay.delivery);
        }
        self.relay.done.notify_one();
    }
}

/// Nobody gets the connection any more, when it ends while a handler that holds its thread has its turn.
struct End<'a>(&'a Relay);

impl Drop for End<'_> {
    fn drop(&mut self) {
        let reader = self.0.lock().reader.take();
        drop(reader);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;
    use crate::server::Server;
    use crate::transport::duplex::Duplex;
    use crate::transport::limits::Limits;
    use crate::transport::out_stream::OutStream;

    #[tokio::test]
    async fn a_turn_may_outlive_its_connection() {
        let limits = Limits::default();
        let out = Arc::new(OutStream::new(limits.outbox()));
        let connection = Duplex::new(Server::new("test", "1"), Arc::clone(&out), limits);
        let relay = Relay::new(Arc::clone(connection.delivery()));
        relay.lock().is_watched = true;
        let reader = Box::new(Reader::new(connection, mpsc::channel(1).1));
        let Ok(loan) = relay.lend(reader) else {
            panic!("somebody watches");
        };
        drop(End(&relay));
        assert!(out.is_closed());
        drop(loan);
        relay.all_done().await;
    }
}
