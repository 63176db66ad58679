//! Several questions at once.

use toolwire_types::{ErrorObject, RawJson};

use crate::error::Error;
use crate::server::ask::{Ask, PendingAsk};

/// Several questions: a tuple of up to eight, or a `Vec` of alike ones.
///
/// Only toolwire implements this.
pub trait AskAll: sealed::AskMany {
    /// The answers, in the same order.
    type Outputs;

    /// Reads the answers.
    ///
    /// # Errors
    /// When one of them is not what is wanted.
    #[doc(hidden)]
    fn read(self, answers: &mut dyn Iterator<Item = RawJson>) -> Result<Self::Outputs, Error>;
}

pub(crate) mod sealed {
    use super::super::PendingAsk;
    use crate::error::Error;

    #[expect(private_interfaces, reason = "nobody outside can name this trait")]
    pub trait AskMany {
        /// What the client is asked.
        fn asked(&self) -> Result<Vec<PendingAsk>, Error>;
    }
}

/// The answer that must be next.
fn next(answers: &mut dyn Iterator<Item = RawJson>) -> Result<RawJson, Error> {
    answers
        .next()
        .ok_or_else(|| ErrorObject::internal("a question was left without an answer").into())
}

macro_rules! tuples {
    ($(($($ask:ident $index:tt),+))+) => {$(
        #[expect(private_interfaces, reason = "nobody outside can name this trait")]
        impl<$($ask: Ask),+> sealed::AskMany for ($($ask,)+) {
            fn asked(&self) -> Result<Vec<PendingAsk>, Error> {
                Ok(vec![$(PendingAsk::new(&self.$index)?),+])
            }
        }

        impl<$($ask: Ask),+> AskAll for ($($ask,)+) {
            type Outputs = ($($ask::Output,)+);

            fn read(self, answers: &mut dyn Iterator<Item = RawJson>) -> Result<Self::Outputs, Error> {
                Ok(($(self.$index.read(next(answers)?)?,)+))
            }
        }
    )+};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
}

#[expect(private_interfaces, reason = "nobody outside can name this trait")]
impl<Q: Ask> sealed::AskMany for Vec<Q> {
    fn asked(&self) -> Result<Vec<PendingAsk>, Error> {
        self.iter().map(PendingAsk::new).collect()
    }
}

impl<Q: Ask> AskAll for Vec<Q> {
    type Outputs = Vec<Q::Output>;

    fn read(self, answers: &mut dyn Iterator<Item = RawJson>) -> Result<Self::Outputs, Error> {
        let read = |question: &Q| question.read(next(answers)?);
        self.iter().map(read).collect()
    }
}
