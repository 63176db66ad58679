//! Effects that happen once, even if the handler runs several times.

use std::cell::Cell;
use std::future::Future;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toolwire_proto::journal::{EntryDigest, InvalidKey, JournalLookup};
use toolwire_types::{ErrorObject, RawJson};

use crate::error::Error;
use crate::server::RequestContext;
use crate::server::request::RoundState;

impl RequestContext {
    /// Runs `work` once in all runs of the handler for one call, and returns its result, decoded from JSON, in each
    /// run.
    ///
    /// Use it for side effects (an order, a message) and for values that differ between runs (a clock, a random
    /// number). The result is part of the sealed request state, so it should be small.
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
    /// `work` may ask for input as well. It has no result until all its input requests have responses, and it restarts
    /// with them. Ask first, then act.
    ///
    /// The result is stored when the handler next ends with an input request. A client that returns to an earlier round
    /// repeats the effect, unless each state works only once:
    /// [`Server::with_single_use_request_state`](crate::Server::with_single_use_request_state).
    ///
    /// # Errors
    /// Returns an error if the result cannot be written as JSON or read back, or if the key is used twice: for
    /// something else, or while its work runs. Also returns an error if the stored result of an earlier round has
    /// another shape. `work` does not run again then.
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

    /// Like [`once`](Self::once), for work that may fail. An error is not stored, so the next run tries again.
    ///
    /// # Errors
    /// Returns the error of `work`, and errors as [`once`](Self::once) does.
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
            read.map_err(|error| E::from(Error::decode(format!("result stored as {key:?}"), error)))
        };
        let running = match RunningEffect::begin(round, &key)
            .map_err(|invalid| Error::from(ErrorObject::from(invalid)))?
        {
            EffectStart::Running(running) => running,
            EffectStart::Done(value) => return read(value),
        };
        let (result, asks) = run_effect(work).await;
        if asks {
            return Err(Error::input_required(&key).into());
        }
        let value = RawJson::from_serialize(&result?)
            .map_err(|error| Error::decode(format!("result to store as {key:?}"), error))?;
        round.in_journal(|journal| journal.store(&key, EntryDigest::EFFECT, value.clone()));
        drop(running);
        if let Some(task) = self.scope().task.get() {
            // Another process may have to continue this task, and must not repeat the effect.
            task.save_journal(self).await?;
        }
        // The first run uses the decoded value as well, so that all runs behave the same.
        read(value)
    }
}

/// The result of starting an effect.
enum EffectStart<'a> {
    Running(RunningEffect<'a>),
    /// The effect ran before, with this result.
    Done(RawJson),
}

/// A running effect, which ends when this value is dropped.
struct RunningEffect<'a> {
    round: &'a RoundState,
    key: &'a str,
}

impl<'a> RunningEffect<'a> {
    /// Looks the key up and begins in one step, because two tasks of a handler may start the same effect.
    fn begin(round: &'a RoundState, key: &'a str) -> Result<EffectStart<'a>, InvalidKey> {
        round.in_journal(|journal| {
            match journal.look_up(key, EntryDigest::EFFECT, round.input_responses())? {
                JournalLookup::Stored(value) => Ok(EffectStart::Done(value)),
                JournalLookup::Received(_) | JournalLookup::Absent => {
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
    /// Set if the work inside asked for input.
    static ASKS: Cell<bool>;
}

/// Runs work, and returns whether it lacked input. If so, it has no result, whatever it returned.
async fn run_effect<T>(work: impl Future<Output = T>) -> (T, bool) {
    let running_work = async {
        let result = work.await;
        (result, ASKS.with(Cell::get))
    };
    let (result, asks) = ASKS.scope(Cell::new(false), running_work).await;
    if asks {
        // The enclosing work has no result either.
        record_ask();
    }
    (result, asks)
}

/// Records that the running work asked for input.
pub(super) fn record_ask() {
    // Outside of `once` there is nothing to record.
    let _ = ASKS.try_with(|asks| asks.set(true));
}
