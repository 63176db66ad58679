//! The store of sessions.
//!
//! A session is one string: its revision, and its record. The principal is part of the key, so that a session of another
//! principal cannot be found, and a load is one command.
//!
//! The first revision stands for a session whose client has not sent `notifications/initialized` yet. Its record is stored as
//! it is after that. So the notification changes only the revision, and needs one command although the engine cannot read
//! sealed records.

use std::sync::Arc;
use std::time::Duration;

use redis::{Script, cmd};
use toolwire::Principal;
use toolwire::store::{
    Bus, BusMessage, LoadedSession, SessionRecord, SessionStore, StoreError, StoredSession,
};

use crate::bus::RedisBus;
use crate::connection::{Connection, Repeat, milliseconds};
use crate::counters::CountedEvent;
use crate::keys::{self, Keys};
use crate::sealing::Sealing;
use crate::subscriber::{Publication, Subscriber};
use crate::{RedisOptions, StoreFuture};

/// The number of sessions of a principal that are looked up together when its limit is reached, to find ended ones.
const LOOKED_UP_TOGETHER: usize = 500;

/// How long the list of a principal's sessions is stored after its last session was created. Sessions that are in use for
/// longer do not count towards the limit any more.
const INDEX_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The length of a revision at the start of a value.
const REVISION_BYTES: usize = 8;

/// The revision of a new session that is not initialized.
const FIRST_REVISION: u64 = 1;

/// The revision of a session that has just been initialized.
const INITIALIZED_REVISION: u64 = FIRST_REVISION + 1;

/// A store of sessions that all nodes share ([`Redis::sessions`](crate::Redis::sessions)).
///
/// An idle anonymous session with a small record takes 355 bytes in the engine (`cargo xtask bench fleet`). Others have an
/// entry in the list of their principal, too. The limit of a principal is checked when a session is created. Sessions that
/// nodes create at the same moment can exceed it.
#[derive(Debug, Clone)]
pub struct RedisSessionStore {
    connection: Connection,
    subscriber: Subscriber,
    keys: Keys,
    per_principal: usize,
    sealing: Option<Sealing>,
    add: Arc<Script>,
    initialize: Arc<Script>,
    replace: Arc<Script>,
}

impl RedisSessionStore {
    pub(crate) fn new(
        connection: Connection,
        subscriber: Subscriber,
        keys: Keys,
        options: &RedisOptions,
    ) -> Self {
        Self {
            connection,
            subscriber,
            keys,
            per_principal: options.sessions_per_principal,
            sealing: options.sealing.clone(),
            add: Arc::new(Script::new(include_str!("scripts/add_session.lua"))),
            initialize: Arc::new(Script::new(include_str!("scripts/initialize_session.lua"))),
            replace: Arc::new(Script::new(include_str!("scripts/replace_session.lua"))),
        }
    }

    /// Adds a session to those of its principal. Returns an error if the principal has too many. Sessions that have ended
    /// do not count.
    async fn add_to_index(&self, owner: &str, id: &str) -> Result<(), StoreError> {
        if self.try_add_to_index(owner, id).await? {
            return Ok(());
        }
        let index = self.keys.sessions_of(owner);
        let mut all = cmd("ZRANGE");
        all.arg(&index).arg(0).arg(-1);
        let ids: Vec<String> = self.connection.send(&all, Repeat::Harmless).await?;
        for ids in ids.chunks(LOOKED_UP_TOGETHER) {
            let ended = self.ended_sessions(owner, ids).await?;
            self.remove_from_index(&index, &ended).await?;
        }
        if self.try_add_to_index(owner, id).await? {
            Ok(())
        } else {
            Err(StoreError::Full)
        }
    }

    /// Adds a session to those of its principal. Returns `false` if the list is full.
    async fn try_add_to_index(&self, owner: &str, id: &str) -> Result<bool, StoreError> {
        let mut invocation = self.add.prepare_invoke();
        invocation
            .key(self.keys.sessions_of(owner))
            .arg(id)
            .arg(self.per_principal)
            .arg(milliseconds(INDEX_LIFETIME));
        self.connection.send(&invocation, Repeat::Harmless).await
    }

    /// Returns those of the sessions that do not exist any more.
    async fn ended_sessions<'a>(
        &self,
        owner: &str,
        ids: &'a [String],
    ) -> Result<Vec<&'a str>, StoreError> {
        let mut commands = redis::pipe();
        for id in ids {
            commands.cmd("EXISTS").arg(self.keys.session(id, owner));
        }
        let exist: Vec<bool> = self.connection.send(&commands, Repeat::Harmless).await?;
        let ended = ids.iter().zip(exist).filter(|(_, exists)| !exists);
        Ok(ended.map(|(id, _)| id.as_str()).collect())
    }

    async fn remove_from_index(&self, index: &str, ids: &[&str]) -> Result<(), StoreError> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut remove = cmd("ZREM");
        remove.arg(index).arg(ids);
        self.connection.send(&remove, Repeat::Harmless).await
    }

    async fn create_session(
        &self,
        id: &str,
        principal: &Principal,
        record: SessionRecord,
        ttl: Duration,
    ) -> Result<StoredSession, StoreError> {
        let owner = keys::owner(principal);
        let key = self.keys.session(id, &owner);
        let revision = if record.initialized {
            INITIALIZED_REVISION
        } else {
            FIRST_REVISION
        };
        let mut initialized = record.clone();
        initialized.initialized = true;
        let mut set = cmd("SET");
        set.arg(&key)
            .arg(self.value_of(&key, revision, &initialized)?)
            .arg("NX")
            .arg("PX")
            .arg(milliseconds(ttl));
        let set = self.connection.send::<bool>(&set, Repeat::Harmful);
        // The anonymous principal represents many users, and has no limit.
        let (created, indexed) = if principal.as_str().is_some() {
            // Both are sent together. An id in the list without a session counts as ended.
            tokio::join!(set, self.add_to_index(&owner, id))
        } else {
            (set.await, Ok(()))
        };
        if !created? {
            return Err(StoreError::Taken);
        }
        if let Err(error) = indexed {
            // The client does not know the id yet.
            let mut remove = cmd("UNLINK");
            remove.arg(&key);
            let () = self.connection.send(&remove, Repeat::Harmless).await?;
            return Err(error);
        }
        self.connection.count_event(CountedEvent::SessionCreated);
        Ok(StoredSession::new(Arc::new(record), revision))
    }
}

impl SessionStore for RedisSessionStore {
    fn create<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        record: SessionRecord,
        ttl: Duration,
    ) -> StoreFuture<'a, StoredSession> {
        Box::pin(self.create_session(id, principal, record, ttl))
    }

    fn load<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
        known: Option<u64>,
    ) -> StoreFuture<'a, Option<LoadedSession>> {
        Box::pin(async move {
            let key = self.keys.session(id, &keys::owner(principal));
            let mut get = cmd("GETEX");
            get.arg(&key).arg("PX").arg(milliseconds(ttl));
            let value = self.connection.send(&get, Repeat::Harmless).await?;
            self.loaded_session(&key, value, known)
        })
    }

    fn load_initialized<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
    ) -> StoreFuture<'a, Option<LoadedSession>> {
        Box::pin(async move {
            let key = self.keys.session(id, &keys::owner(principal));
            let mut invocation = self.initialize.prepare_invoke();
            invocation
                .key(&key)
                .arg(milliseconds(ttl))
                .arg(&FIRST_REVISION.to_be_bytes()[..])
                .arg(&INITIALIZED_REVISION.to_be_bytes()[..]);
            let value = self.connection.send(&invocation, Repeat::Harmless).await?;
            self.loaded_session(&key, value, None)
        })
    }

    fn touch<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        ttl: Duration,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let mut expire = cmd("PEXPIRE");
            expire
                .arg(self.keys.session(id, &keys::owner(principal)))
                .arg(milliseconds(ttl));
            self.connection.send(&expire, Repeat::Harmless).await
        })
    }

    fn touch_many<'a>(
        &'a self,
        sessions: &'a [(String, Principal)],
        ttl: Duration,
    ) -> StoreFuture<'a, Vec<bool>> {
        Box::pin(async move {
            if sessions.is_empty() {
                return Ok(Vec::new());
            }
            let mut commands = redis::pipe();
            for (id, principal) in sessions {
                let key = self.keys.session(id, &keys::owner(principal));
                commands.cmd("PEXPIRE").arg(key).arg(milliseconds(ttl));
            }
            self.connection.send(&commands, Repeat::Harmless).await
        })
    }

    fn replace<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        revision: u64,
        record: SessionRecord,
    ) -> StoreFuture<'a, Option<u64>> {
        Box::pin(async move {
            let replaced = self.replace_record(id, principal, revision, &record, None);
            replaced.await
        })
    }

    fn replace_and_publish<'a>(
        &'a self,
        id: &'a str,
        principal: &'a Principal,
        revision: u64,
        record: &'a SessionRecord,
        bus: &'a dyn Bus,
        node: &'a str,
    ) -> Option<StoreFuture<'a, Option<u64>>> {
        let bus: &RedisBus = bus.as_any()?.downcast_ref()?;
        if !bus.can_publish_in_scripts_of(&self.subscriber) {
            return None;
        }
        let message = BusMessage::session_updated(node, id, record.clone(), revision + 1);
        let publication = self.subscriber.try_begin_publication(&[message])?;
        Some(Box::pin(async move {
            let replaced = self
                .replace_record(id, principal, revision, record, Some(&publication))
                .await;
            match &replaced {
                // If the response of a script was lost, and another node has replaced the record before the repetition, the
                // message was published nevertheless. Other nodes see its number again, as if messages were lost.
                Ok(replaced) => publication.end(replaced.is_some()),
                Err(_) => publication.end_with(&replaced),
            }
            replaced
        }))
    }

    fn delete<'a>(&'a self, id: &'a str, principal: &'a Principal) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let owner = keys::owner(principal);
            let mut delete = cmd("UNLINK");
            delete.arg(self.keys.session(id, &owner));
            let deleted = async {
                let deleted: bool = self.connection.send(&delete, Repeat::Harmful).await?;
                if deleted {
                    self.connection.count_event(CountedEvent::SessionDeleted);
                }
                Ok(deleted)
            };
            if principal.as_str().is_none() {
                return deleted.await;
            }
            let index = self.keys.sessions_of(&owner);
            let ids = [id];
            // Both are sent together. An id in the list without a session counts as ended.
            let (deleted, removed) = tokio::join!(deleted, self.remove_from_index(&index, &ids));
            removed.and(deleted)
        })
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(self.connection.check())
    }
}

impl RedisSessionStore {
    /// Replaces a record, and publishes the message about it if there is one.
    async fn replace_record(
        &self,
        id: &str,
        principal: &Principal,
        revision: u64,
        record: &SessionRecord,
        publication: Option<&Publication>,
    ) -> Result<Option<u64>, StoreError> {
        let next = revision + 1;
        let key = self.keys.session(id, &keys::owner(principal));
        let value = self.value_of(&key, next, record)?;
        let mut invocation = self.replace.prepare_invoke();
        invocation
            .key(key)
            .arg(&revision.to_be_bytes()[..])
            .arg(value);
        if let Some(publication) = publication {
            invocation
                .arg(publication.channel())
                .arg(publication.envelope());
        }
        let repeat = Repeat::Harmless;
        let replaced: bool = self.connection.send(&invocation, repeat).await?;
        Ok(replaced.then_some(next))
    }

    fn value_of(
        &self,
        key: &str,
        revision: u64,
        record: &SessionRecord,
    ) -> Result<Vec<u8>, StoreError> {
        let mut value = revision.to_be_bytes().to_vec();
        match &self.sealing {
            Some(sealing) => value.extend(sealing.seal(key, &record.to_bytes())?.into_bytes()),
            None => value.extend(record.to_bytes()),
        }
        Ok(value)
    }

    /// Decodes a session, and counts an absent one.
    fn loaded_session(
        &self,
        key: &str,
        value: Option<Vec<u8>>,
        known: Option<u64>,
    ) -> Result<Option<LoadedSession>, StoreError> {
        let loaded = match value {
            Some(value) => self.decode(key, &value, known)?,
            None => None,
        };
        if loaded.is_none() {
            self.connection.count_event(CountedEvent::SessionUnknown);
        }
        Ok(loaded)
    }

    /// Decodes a session. A session that other keys have sealed counts as absent.
    fn decode(
        &self,
        key: &str,
        value: &[u8],
        known: Option<u64>,
    ) -> Result<Option<LoadedSession>, StoreError> {
        let (revision, record) = value
            .split_first_chunk::<REVISION_BYTES>()
            .ok_or(StoreError::UnsupportedFormat)?;
        let revision = u64::from_be_bytes(*revision);
        if known == Some(revision) {
            return Ok(Some(LoadedSession::Same));
        }
        let mut record = match &self.sealing {
            Some(sealing) => match sealing.open(key, record) {
                Some(record) => SessionRecord::from_bytes(&record)?,
                None => return Ok(None),
            },
            None => SessionRecord::from_bytes(record)?,
        };
        if revision == FIRST_REVISION {
            record.initialized = false;
        }
        let session = StoredSession::new(Arc::new(record), revision);
        Ok(Some(LoadedSession::Newer(session)))
    }
}
