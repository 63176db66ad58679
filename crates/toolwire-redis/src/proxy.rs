//! The store of an OAuth proxy.
//!
//! All records of one kind are on one primary of a cluster, because their limits are exact.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use redis::{Script, ScriptInvocation, cmd};
use toolwire::store::StoreError;
use toolwire_auth::proxy::store::{NewProxyRecord, OwnerLimit, ProxyRecord, ProxyStore};

use crate::connection::{Connection, Repeat, milliseconds};
use crate::keys::Keys;
use crate::random_id::random_id;
use crate::{RedisOptions, StoreFuture};

/// How long a taken record is stored for a repetition of the same call.
const REPETITION_TIME: Duration = Duration::from_secs(10);

/// A script of one record. The first line has its flags: without any, the engine rejects it when its memory is used up.
macro_rules! proxy_script {
    ($first_line:literal, $name:literal) => {
        Script::new(concat!(
            $first_line,
            "\n",
            include_str!("scripts/proxy/common.lua"),
            include_str!(concat!("scripts/proxy/", $name, ".lua"))
        ))
    };
}

/// A store of an OAuth proxy that all nodes share ([`Redis::proxy_store`](crate::Redis::proxy_store)). The proxy seals
/// the records: the engine contains no keys and no readable tokens.
///
/// A grant takes about 3 KiB in the engine.
#[derive(Clone)]
pub struct RedisProxyStore {
    connection: Connection,
    keys: Keys,
    scripts: Arc<ProxyScripts>,
    limits: ProxyLimits,
}

/// The maximum numbers of records.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProxyLimits {
    pub(crate) clients: usize,
    pub(crate) logins: usize,
    pub(crate) grants: usize,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            clients: 50_000,
            logins: 10_000,
            grants: 50_000,
        }
    }
}

struct ProxyScripts {
    put: Script,
    replace: Script,
    take: Script,
}

impl RedisProxyStore {
    pub(crate) fn new(connection: Connection, keys: Keys, options: &RedisOptions) -> Self {
        Self {
            connection,
            keys,
            scripts: Arc::new(ProxyScripts {
                put: proxy_script!("#!lua", "put"),
                // A full engine still serves the users that have logged in.
                replace: proxy_script!("#!lua flags=allow-oom", "replace"),
                take: proxy_script!("#!lua flags=allow-oom", "take"),
            }),
            limits: options.proxy,
        }
    }

    /// Returns the maximum number of records of a kind. A kind of a newer version has the smallest limit.
    fn limit(&self, kind: ProxyRecord) -> usize {
        match kind {
            ProxyRecord::Client => self.limits.clients,
            ProxyRecord::Grant => self.limits.grants,
            _ => self.limits.logins,
        }
    }

    fn record_key(&self, kind: ProxyRecord, key: &[u8; 32]) -> String {
        let key = URL_SAFE_NO_PAD.encode(key);
        self.keys.of_proxy(kind.as_str(), &format!("r:{key}"))
    }

    /// Adds the keys that all scripts of one record have.
    fn add_keys(
        &self,
        invocation: &mut ScriptInvocation<'_>,
        kind: ProxyRecord,
        key: &[u8; 32],
        owner: &str,
    ) {
        let of_kind = |name: &str| self.keys.of_proxy(kind.as_str(), name);
        invocation
            .key(self.record_key(kind, key))
            .key(of_kind("expiry"))
            .key(of_kind("protection"))
            .key(of_kind(&format!("o:{owner}")));
    }

    /// Returns a call of a script that writes a record.
    fn write<'a>(
        &self,
        script: &'a Script,
        kind: ProxyRecord,
        key: &[u8; 32],
        record: &NewProxyRecord,
    ) -> Result<ScriptInvocation<'a>, StoreError> {
        let owner = record.owner.map(|owner| URL_SAFE_NO_PAD.encode(owner.key));
        let owner = owner.unwrap_or_default();
        let mut invocation = script.prepare_invoke();
        self.add_keys(&mut invocation, kind, key, &owner);
        invocation
            .arg(random_id()?)
            .arg(&record.text)
            .arg(owner)
            .arg(milliseconds(record.lifetime))
            .arg(u64::try_from(record.protection.as_millis()).unwrap_or(u64::MAX >> 14))
            .arg(record.owner.map_or(1, |owner| owner.limit.max(1)));
        Ok(invocation)
    }
}

impl fmt::Debug for RedisProxyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisProxyStore")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl ProxyStore for RedisProxyStore {
    fn put<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a [u8; 32],
        record: NewProxyRecord,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let mut invocation = self.write(&self.scripts.put, kind, key, &record)?;
            let removes_first = record
                .owner
                .is_some_and(|owner| owner.at_limit == OwnerLimit::RemoveFirst);
            invocation
                .arg(u8::from(removes_first))
                .arg(self.limit(kind));
            match self.connection.send(&invocation, Repeat::Harmless).await? {
                1 => Ok(()),
                _ => Err(StoreError::Full),
            }
        })
    }

    fn get<'a>(&'a self, kind: ProxyRecord, key: &'a [u8; 32]) -> StoreFuture<'a, Option<String>> {
        Box::pin(async move {
            let mut get = cmd("HMGET");
            get.arg(self.record_key(kind, key)).arg("text").arg("taken");
            let (text, taken): (Option<String>, Option<String>) =
                self.connection.send(&get, Repeat::Harmless).await?;
            Ok(text.filter(|_| taken.is_none()))
        })
    }

    fn take<'a>(&'a self, kind: ProxyRecord, key: &'a [u8; 32]) -> StoreFuture<'a, Option<String>> {
        Box::pin(async move {
            let mut invocation = self.scripts.take.prepare_invoke();
            self.add_keys(&mut invocation, kind, key, "");
            invocation
                .arg(random_id()?)
                .arg(milliseconds(REPETITION_TIME));
            self.connection.send(&invocation, Repeat::Harmless).await
        })
    }

    fn replace<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a [u8; 32],
        expected: &'a str,
        record: NewProxyRecord,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let mut invocation = self.write(&self.scripts.replace, kind, key, &record)?;
            invocation.arg(expected);
            let replaced: u8 = self.connection.send(&invocation, Repeat::Harmless).await?;
            Ok(replaced == 1)
        })
    }

    fn check(&self) -> StoreFuture<'_, ()> {
        Box::pin(self.connection.check())
    }
}
