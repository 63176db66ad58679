//! Registration of event types, before and while the server runs.

use std::sync::Arc;

use toolwire_proto::extensions;
use toolwire_proto::subscriptions::Change;
use toolwire_types::RawJson;
use toolwire_types::events::{EXTENSION_ID, EventsSettings};

use crate::server::Server;
use crate::server::events::entry::EventEntry;
use crate::server::events::methods::EVENTS;
use crate::server::events::source::EventSource;
use crate::server::events::state::{EventLimits, EventState};
use crate::server::extension_entry::ExtensionEntry;
use crate::server::register::unwrap_or_panic;
use crate::server::registry::RegistrationError;
use crate::server::snapshot::Snapshot;

impl Server {
    /// Registers a type of events: an [`EventSource`], or an [`Emitter`](crate::events::Emitter).
    ///
    /// The extension is a draft. The guide page [`events`](crate::guide::events) describes it.
    ///
    /// ```
    /// use serde::Serialize;
    /// use toolwire::events::{Emitter, Event, NoArguments};
    /// use toolwire::{JsonSchema, Server};
    ///
    /// /// An incident was created.
    /// #[derive(Serialize, JsonSchema)]
    /// struct Incident { title: String }
    ///
    /// # fn main() -> Result<(), toolwire::Error> {
    /// let incidents = Emitter::<NoArguments, Incident>::new();
    /// let server = Server::new("desk", "1.0.0").event("incident.created", incidents.clone());
    ///
    /// let incident = Incident { title: "The printer is on fire".to_owned() };
    /// incidents.emit(Event::new(incident).with_id("INC-17"))?;
    /// # drop(server);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    /// Panics if the name is already registered or invalid, if the arguments are not a struct with named fields, and if
    /// the input schema does not compile.
    #[must_use]
    #[track_caller]
    pub fn event(self, name: impl Into<String>, source: impl EventSource) -> Self {
        unwrap_or_panic(self.add_event(name, source));
        self
    }

    /// Adds a type of events to a running server and notifies clients.
    ///
    /// # Errors
    /// Returns an error for the reasons for which [`event`](Self::event) panics.
    pub fn add_event(
        &self,
        name: impl Into<String>,
        source: impl EventSource,
    ) -> Result<(), RegistrationError> {
        let entry = EventEntry::new(&name.into(), source)?;
        self.register_event(Arc::new(entry))?;
        self.events_changed();
        Ok(())
    }

    /// Removes a type of events from a running server and notifies clients. Its subscriptions end with −32023. Returns
    /// `false` if there is no such type.
    pub fn remove_event(&self, name: &str) -> bool {
        let removed = self.change(|snapshot| snapshot.events.by_name.shift_remove(name));
        if let Some(entry) = &removed {
            entry.removed.cancel();
            self.events_changed();
        }
        removed.is_some()
    }

    /// Sets the limits of events. Call it before the server runs: open streams keep their limits.
    #[must_use]
    pub fn with_event_limits(self, limits: EventLimits) -> Self {
        self.change(|snapshot| snapshot.events.state = Arc::new(EventState::new(limits)));
        self
    }

    /// Notifies clients that the list of event types changed. Adding and removing types does this automatically. Returns
    /// the number of streams reached.
    pub fn events_changed(&self) -> usize {
        self.publish(&Change::EventsListChanged)
    }

    fn register_event(&self, entry: Arc<EventEntry>) -> Result<(), RegistrationError> {
        self.change(|snapshot| snapshot.add_event(entry))
    }
}

impl Snapshot {
    fn add_event(&mut self, entry: Arc<EventEntry>) -> Result<(), RegistrationError> {
        let is_first = !self.kinds.iter().any(|kind| kind.name == EVENTS.name);
        if is_first && self.extensions.contains_key(EXTENSION_ID) {
            return Err(RegistrationError::duplicate("extension", EXTENSION_ID));
        }
        let name = entry.name().to_owned();
        if self.events.by_name.contains_key(&name) {
            return Err(RegistrationError::duplicate("event type", &name));
        }
        self.events.by_name.insert(name, entry);
        self.install(&EVENTS);
        self.extensions
            .entry(EXTENSION_ID.to_owned())
            .or_insert_with(declaration);
        Ok(())
    }
}

fn declaration() -> Arc<ExtensionEntry> {
    let settings = EventsSettings::new().with_list_changed();
    Arc::new(ExtensionEntry {
        id: EXTENSION_ID.to_owned(),
        settings: RawJson::from_serialize(&settings).expect("the settings are one member"),
        since: extensions::first_revision(EXTENSION_ID),
        requires_client: false,
        needs: Vec::new(),
    })
}
