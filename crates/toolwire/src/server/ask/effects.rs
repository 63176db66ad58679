//! What must happen once though the handler runs several times.

use std::cell::Cell;
use std::future::Future;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toolwire_proto::journal::{EntryDigest, InvalidKey, JournalLookup};
use toolwire_types::{ErrorObject, RawJson};

use crate::engine::RoundState;
use crate::error::Error;
use crate::server::RequestContext;

impl RequestContext {
    /// Does something one time in all runs of the handler for one call, and gives its result in each of them, as JSON
    /// carries it.
    ///
    /// For side effects (place an order, send a message) and for values that would differ from run to run (a clock, a
    /// random number). The result travels in the sealed request state, so keep it small.
    ///
    /// ```
    /// use serde::Deserialize;
    /// use toolwire::{Elicit, Error, RequestContext, tool};
    ///
    /// #[derive(Deserialize, Elicit)]
    /// struct Confirm {
    ///     sure: bool,
    /// }
    ///
    /// /// Orders a pizza.
    /// #[tool]
    /// async fn order(ctx: &RequestContext) -> Result<String, Error> {
    ///     let number = ctx.once("reserve", async { 42 }).await?;
    ///     let text = format!("Order number {number}?");
    ///     let confirm: Confirm = ctx.ask("confirm", text).await?;
    ///     Ok(format!("{number}: {}", confirm.sure))
    /// }
    /// ```
    ///
    /// The work may ask, too. It has no result until all its questions are answered, and begins anew with the answers:
    /// ask first, then act.
    ///
    /// It is remembered when the handler next ends with a question. A client that goes back to an earlier round makes it
    /// happen again, unless every state works once:
    /// [`Server::with_single_use_request_state`](crate::Server::with_single_use_request_state).
    ///
    /// # Errors
    /// When the result is not JSON or cannot be read back from it, when the key is used for something else or at this very
    /// moment, and when what an earlier round remembered has another shape: it is not done a second time then.
    pub async fn once<T>(
        &self,
        key: impl Into<String>,
        work: impl Future<Output = T>,
    ) -> Result<T, Error>
    where
        T: Serialize + DeserializeOwned,
    {
        self.try_once(key, async { Ok::<T, Error>(work.await) })
            .await
    }

    /// [`once`](Self::once) for work that may fail: a failure is not remembered, so the next run tries again.
    ///
    /// # Errors
    /// The failure, and as [`once`](Self::once).
    pub async fn try_once<T, E>(
        &self,
        key: impl Into<String>,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned,
        E: From<Error>,
    {
        let key = key.into();
        let round = &self.scope().round;
        let read = |value: RawJson| {
            let read = value.parse();
            read.map_err(|error| {
                E::from(Error::decode(
                    format!("result remembered as {key:?}"),
                    error,
                ))
            })
        };
        let running = match RunningEffect::begin(round, &key)
            .map_err(|invalid| Error::from(ErrorObject::from(invalid)))?
        {
            EffectStart::Running(running) => running,
            EffectStart::Done(value) => return read(value),
        };
        let (result, asks) = watched(work).await;
        if asks {
            return Err(Error::input_required(&key).into());
        }
        let value = RawJson::from_serialize(&result?)
            .map_err(|error| Error::decode(format!("result to remember as {key:?}"), error))?;
        round.in_journal(|journal| journal.remember(&key, EntryDigest::EFFECT, value.clone()));
        drop(running);
        // The first run goes on with what all later ones get, so that all go the same way.
        read(value)
    }
}

/// What became of the wish to do something.
enum EffectStart<'a> {
    Running(RunningEffect<'a>),
    /// It is done, with this result.
    Done(RawJson),
}

/// An effect that takes place; dropped, it does not any more.
struct RunningEffect<'a> {
    round: &'a RoundState,
    key: &'a str,
}

impl<'a> RunningEffect<'a> {
    /// Looks and begins in one step: two tasks of a handler may want the same at the same time.
    fn begin(round: &'a RoundState, key: &'a str) -> Result<EffectStart<'a>, InvalidKey> {
        round.in_journal(|journal| {
            match journal.look_up(key, EntryDigest::EFFECT, round.input_responses())? {
                JournalLookup::Remembered(value) => Ok(EffectStart::Done(value)),
                JournalLookup::Arrived(_) | JournalLookup::Nothing => {
                    journal.begin(key)?;
                    Ok(EffectStart::Running(Self { round, key }))
                }
            }
        })
    }
}

impl Drop for RunningEffect<'_> {
    fn drop(&mut self) {
        self.round.in_journal(|journal| journal.end(self.key));
    }
}

tokio::task_local! {
    /// Set when the work around it had to ask.
    static ASKS: Cell<bool>;
}

/// Runs work, and says whether it could not find something out: then it has no result, whatever it made of the error.
async fn watched<T>(work: impl Future<Output = T>) -> (T, bool) {
    let watching = async {
        let result = work.await;
        (result, ASKS.with(Cell::get))
    };
    let (result, asks) = ASKS.scope(Cell::new(false), watching).await;
    if asks {
        // The work around this work has no result either.
        record_ask();
    }
    (result, asks)
}

/// Notes that the work under way had to ask.
pub(super) fn record_ask() {
    // Outside of any work nobody has to know.
    let _ = ASKS.try_with(|asks| asks.set(true));
}
