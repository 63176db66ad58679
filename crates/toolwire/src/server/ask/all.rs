//! Several input requests in one round.

use toolwire_types::{ErrorObject, RawJson};

use crate::error::Error;
use crate::server::ask::{Ask, PendingAsk};

/// Several input requests: a tuple of up to eight, or a `Vec` of one type.
///
/// Only toolwire implements this.
pub trait AskAll: sealed::AskMany {
    /// The outputs, in the same order.
    type Outputs;

    /// Decodes the responses.
    ///
    /// # Errors
    /// Returns an error if a response cannot be converted.
    #[doc(hidden)]
    fn read(self, responses: &mut dyn Iterator<Item = RawJson>) -> Result<Self::Outputs, Error>;
}

pub(crate) mod sealed {
    use crate::error::Error;
    use crate::server::ask::PendingAsk;

    #[expect(private_interfaces, reason = "other crates cannot name this trait")]
    pub trait AskMany {
        /// Returns the input requests for the client.
        fn pending_asks(&self) -> Result<Vec<PendingAsk>, Error>;
    }
}

/// Returns the next response.
fn next(responses: &mut dyn Iterator<Item = RawJson>) -> Result<RawJson, Error> {
    responses
        .next()
        .ok_or_else(|| ErrorObject::internal("an input request has no response").into())
}

macro_rules! tuples {
    ($(($($ask:ident $index:tt),+))+) => {$(
        #[expect(private_interfaces, reason = "other crates cannot name this trait")]
        impl<$($ask: Ask),+> sealed::AskMany for ($($ask,)+) {
            fn pending_asks(&self) -> Result<Vec<PendingAsk>, Error> {
                Ok(vec![$(PendingAsk::new(&self.$index)?),+])
            }
        }

        impl<$($ask: Ask),+> AskAll for ($($ask,)+) {
            type Outputs = ($($ask::Output,)+);

            fn read(self, responses: &mut dyn Iterator<Item = RawJson>) -> Result<Self::Outputs, Error> {
                Ok(($(self.$index.read(next(responses)?)?,)+))
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

#[expect(private_interfaces, reason = "other crates cannot name this trait")]
impl<Q: Ask> sealed::AskMany for Vec<Q> {
    fn pending_asks(&self) -> Result<Vec<PendingAsk>, Error> {
        self.iter().map(PendingAsk::new).collect()
    }
}

impl<Q: Ask> AskAll for Vec<Q> {
    type Outputs = Vec<Q::Output>;

    fn read(self, responses: &mut dyn Iterator<Item = RawJson>) -> Result<Self::Outputs, Error> {
        let read = |ask: &Q| ask.read(next(responses)?);
        self.iter().map(read).collect()
    }
}
