//! The methods of a client for events.

use serde::Serialize;
use serde_json::json;
use toolwire_proto::extensions;
use toolwire_types::RawJson;
use toolwire_types::events::{
    EXTENSION_ID, EventType, ListEventsResult, PollEventsParams, PollEventsResult,
};

use crate::client::Client;
use crate::client::arguments::serialize_error;
use crate::client::call::Call;
use crate::client::events::state::EventSubscriptionState;
use crate::client::events::subscribe::SubscribeEvents;
use crate::client::list::ListCall;
use crate::error::Error;

impl Client {
    /// Lists the types of events of the server.
    ///
    /// # Errors
    /// The list fails if the server does not declare the extension `io.modelcontextprotocol/events`. Nothing is sent then.
    pub fn list_events(&self) -> ListCall<ListEventsResult, EventType> {
        let page = |client: &Self, cursor: Option<String>| {
            let params = cursor.map(|cursor| RawJson::from(json!({ "cursor": cursor })));
            client.decoded_call("events/list", client.check_events().map(|()| params))
        };
        ListCall::new(self, page, |page| (page.events, page.next_cursor))
    }

    /// Polls a type of events once. [`subscribe_events`](Self::subscribe_events) polls by itself.
    ///
    /// # Errors
    /// The call fails if the server does not declare the extension. Nothing is sent then.
    pub fn poll_events(&self, params: &PollEventsParams) -> Call<PollEventsResult> {
        self.decoded_call("events/poll", self.events_params(params))
    }

    /// Subscribes to a type of events. It opens a stream, or polls if the server has no streams for the type.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), toolwire::Error> {
    /// use serde::Serialize;
    /// use serde_json::json;
    /// use toolwire::events::{Emitter, Event, EventItem, NoArguments};
    /// use toolwire::{Client, JsonSchema, Server};
    ///
    /// #[derive(Serialize, JsonSchema)]
    /// struct Incident { title: String }
    ///
    /// let incidents = Emitter::<NoArguments, Incident>::new();
    /// let server = Server::new("desk", "1.0.0").event("incident.created", incidents.clone());
    /// let client = Client::in_process(&server).await?;
    ///
    /// let mut events = client.subscribe_events("incident.created", json!({})).await?;
    /// incidents.emit(Event::new(Incident { title: "Smoke".to_owned() }).with_id("INC-17"))?;
    /// let Some(EventItem::Event(event)) = events.next().await? else { panic!("no event") };
    /// assert_eq!((event.event_id.as_str(), event.data.get()), ("INC-17", r#"{"title":"Smoke"}"#));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the server does not declare the extension, or rejects the subscription.
    pub fn subscribe_events(
        &self,
        name: impl Into<String>,
        arguments: impl Serialize,
    ) -> SubscribeEvents {
        let arguments = RawJson::from_serialize(&arguments);
        let arguments = arguments.map_err(|error| serialize_error("the arguments", error));
        SubscribeEvents::new(self, name.into(), arguments)
    }

    /// Continues a subscription where its [`state`](crate::events::EventSubscription::state) was taken, also in another
    /// process.
    ///
    /// # Errors
    /// Returns an error for the reasons of [`subscribe_events`](Self::subscribe_events).
    pub fn resume_events(&self, state: EventSubscriptionState) -> SubscribeEvents {
        SubscribeEvents::resume(self, state)
    }

    /// Returns the parameters of a request about events.
    pub(super) fn events_params(&self, params: &impl Serialize) -> Result<Option<RawJson>, Error> {
        self.check_events()?;
        let params = RawJson::from_serialize(params);
        let params = params.map_err(|error| serialize_error("the parameters", error))?;
        Ok(Some(params))
    }

    /// Checks that the server declared the extension. A client must not send its methods otherwise.
    pub(crate) fn check_events(&self) -> Result<(), Error> {
        let Some(server) = self.server() else {
            return Err(Error::invalid_request(
                "the client did not probe the server, so its extensions are unknown; connect without a detected era",
            ));
        };
        let is_declared = server.capabilities.extension(EXTENSION_ID).is_some();
        if is_declared && extensions::may_declare(self.version(), EXTENSION_ID) {
            return Ok(());
        }
        Err(Error::invalid_request(format!(
            "the server does not declare the extension `{EXTENSION_ID}`, so it has no events"
        )))
    }
}
