//! How tasks are stored and read.

use std::sync::Arc;

use redis::{FromRedisValue as _, Value};
use toolwire::Principal;
use toolwire::store::{StoreError, StoredTask, TaskRecord};

/// The format of stored tasks. A node that reads another one reports an error instead of a damaged task.
pub(super) const FORMAT: u32 = 1;

/// What scripts return of a task: format, id, principal, record, revision and worker.
type Fields = (u32, String, String, Vec<u8>, u64, String);

/// Decodes the task that a script returned, if any.
pub(super) fn stored_task(value: Value) -> Result<Option<StoredTask>, StoreError> {
    let fields: Option<Fields> =
        Option::from_redis_value(value).map_err(StoreError::unavailable)?;
    let Some((format, id, principal, record, revision, worker)) = fields else {
        return Ok(None);
    };
    if format != FORMAT {
        return Err(StoreError::UnsupportedFormat);
    }
    let record: TaskRecord = serde_json::from_slice(&record).map_err(StoreError::unavailable)?;
    let principal = (!principal.is_empty()).then_some(principal);
    let principal = Principal::from_stored(principal.as_deref());
    let mut task = StoredTask::new(id, principal, Arc::new(record), revision);
    task.owner = (!worker.is_empty()).then_some(worker);
    Ok(Some(task))
}

/// Returns the ids in the members `<owner>:<id>` of a sorted set.
pub(super) fn ids_in_members(owner: &str, members: Vec<String>) -> Vec<String> {
    let prefix = owner.len() + 1;
    let mut ids = members;
    for id in &mut ids {
        id.drain(..prefix);
    }
    ids
}

pub(super) fn json_of(record: &TaskRecord) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(record).map_err(StoreError::unavailable)
}

/// Returns when a record expires, or an empty text.
pub(super) fn expiry_of(record: &TaskRecord) -> String {
    let expiry = record.expires_at_ms.map(|expiry| expiry.to_string());
    expiry.unwrap_or_default()
}
