//! A proxy store in memory.

mod table;

use std::collections::HashMap;
use std::sync::Mutex;

use tokio::time::Instant;
use toolwire::BoxFuture;
use toolwire::store::StoreError;

use crate::proxy::store::memory::table::{RecordKey, Table, TableCapacity};
use crate::proxy::store::{NewProxyRecord, ProxyRecord, ProxyStore};
use crate::sync::lock;

/// A store of an OAuth proxy in the memory of this process. All users log in again after a restart.
///
/// Its limits are [`MemoryProxyLimits`]. A new record beyond them is rejected, unless a record whose protection has
/// ended can be evicted. So a flood of registrations or logins evicts no login in progress and no client in use.
#[derive(Debug)]
pub struct MemoryProxyStore {
    limits: MemoryProxyLimits,
    tables: Mutex<HashMap<ProxyRecord, Table>>,
}

/// The limits of a [`MemoryProxyStore`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryProxyLimits {
    /// The maximum number of clients. Default: 50,000.
    pub clients: usize,
    /// The maximum number of logins in progress. Default: 10,000.
    pub logins: usize,
    /// The maximum number of grants. Default: 50,000.
    pub grants: usize,
    /// The maximum number of bytes of all clients, of all logins and of all grants, of each. Default: 256 MiB.
    pub bytes: usize,
}

impl Default for MemoryProxyLimits {
    fn default() -> Self {
        Self {
            clients: 50_000,
            logins: 10_000,
            grants: 50_000,
            bytes: 256 * 1024 * 1024,
        }
    }
}

impl MemoryProxyStore {
    /// Creates a store with these limits.
    #[must_use]
    pub fn new(limits: MemoryProxyLimits) -> Self {
        Self {
            limits,
            tables: Mutex::default(),
        }
    }

    fn capacity(&self, kind: ProxyRecord) -> TableCapacity {
        let records = match kind {
            ProxyRecord::Client => self.limits.clients,
            ProxyRecord::Login => self.limits.logins,
            ProxyRecord::Grant => self.limits.grants,
        };
        TableCapacity {
            records,
            bytes: self.limits.bytes,
        }
    }

    /// Runs a closure on the table of a kind, after removing its expired records.
    fn with_table<T>(&self, kind: ProxyRecord, work: impl FnOnce(&mut Table, Instant) -> T) -> T {
        let mut tables = lock(&self.tables);
        let table = tables.entry(kind).or_default();
        let now = Instant::now();
        table.remove_expired(now);
        work(table, now)
    }
}

impl Default for MemoryProxyStore {
    fn default() -> Self {
        Self::new(MemoryProxyLimits::default())
    }
}

impl ProxyStore for MemoryProxyStore {
    fn put<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a RecordKey,
        record: NewProxyRecord,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let capacity = self.capacity(kind);
        let put = self.with_table(kind, |table, now| table.put(*key, record, now, capacity));
        Box::pin(std::future::ready(put))
    }

    fn get<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a RecordKey,
    ) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        let text = self.with_table(kind, |table, _| table.get(key).map(str::to_owned));
        Box::pin(std::future::ready(Ok(text)))
    }

    fn take<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a RecordKey,
    ) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        let taken = self.with_table(kind, |table, _| table.remove(key));
        Box::pin(std::future::ready(Ok(taken)))
    }

    fn replace<'a>(
        &'a self,
        kind: ProxyRecord,
        key: &'a RecordKey,
        expected: &'a str,
        record: NewProxyRecord,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let replaced = self.with_table(kind, |table, now| {
            let is_expected = table.get(key) == Some(expected);
            if is_expected {
                table.replace(*key, record, now);
            }
            is_expected
        });
        Box::pin(std::future::ready(Ok(replaced)))
    }
}

#[cfg(test)]
mod tests;
