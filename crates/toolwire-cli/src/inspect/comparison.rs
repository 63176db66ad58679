//! Sends the requests of a record to the inspected server again, and compares the responses.

use std::time::Duration;

use crate::connect::failed;
use crate::failure::{Failure, Phase};
use crate::inspect::inspector::{InspectError, Inspector, invalid};
use crate::inspect::source::Source;
use crate::record::Record;
use crate::replay::{CompareOptions, Report, changing_tools, replay_against};
use crate::target::Target;

/// How long a response may take.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// The outcome of a comparison.
pub(super) enum Comparison {
    Compared(Report),
    /// Nothing was sent, because these tools may change something.
    NeedsPermission(Vec<String>),
}

impl Inspector {
    /// Compares the server with a record, or with the record of the page, on a connection of its own. Tools that may
    /// change something are called again only with `may_change`.
    pub(super) async fn compare(
        &self,
        text: Option<String>,
        may_change: bool,
    ) -> Result<Comparison, InspectError> {
        let Source::Server(target) = &self.connector.source else {
            let message = "a record is compared with a server; inspect the server instead";
            return Err(InspectError::Invalid(message.to_owned()));
        };
        let text = match text {
            Some(text) => text,
            None => self.record_text().await?,
        };
        // A long record takes a while.
        let record = tokio::task::spawn_blocking(move || Record::from_text(&text));
        let record = record.await.map_err(invalid)?.map_err(|error| {
            let message = format!("the record is invalid: {error}");
            InspectError::Invalid(message)
        })?;
        let Ok(_permit) = self.comparing.try_acquire() else {
            let message = "another record is being compared; wait for its end";
            return Err(InspectError::Limit(message.to_owned()));
        };
        let compared = self.compare_with(target, &record, may_change).await;
        compared.map_err(InspectError::Failed)
    }

    async fn compare_with(
        &self,
        target: &Target,
        record: &Record,
        may_change: bool,
    ) -> Result<Comparison, Failure> {
        let relay = self.connector.upstream(target)?.relay();
        let comparing = async {
            let connected = relay.connect().await;
            connected.map_err(|error| failed(&error, target))?;
            if !may_change {
                let changing = changing_tools(record, &relay).await;
                let changing = changing.map_err(|error| Failure::of(&error, Phase::Calling))?;
                if !changing.is_empty() {
                    return Ok(Comparison::NeedsPermission(changing));
                }
            }
            let options = CompareOptions::default();
            let report = replay_against(record, &relay, &options, RESPONSE_TIMEOUT).await;
            Ok(Comparison::Compared(report))
        };
        let outcome = comparing.await;
        relay.close().await;
        outcome
    }
}
