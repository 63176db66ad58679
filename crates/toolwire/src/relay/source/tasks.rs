//! Tasks of an upstream server.
//!
//! Client and server have the same design of tasks, otherwise the server learns nothing of the client's support. The source
//! replaces the ids: the client gets sealed ones, see [`UpstreamTask`].

use toolwire_proto::features::VersionFeatures;
use toolwire_proto::methods::is_about_task;
use toolwire_proto::raw_object::RawObject;
use toolwire_types::{ErrorObject, RawJson, meta_key};

use crate::engine::OutgoingNotification;
use crate::relay::source::SourceInner;
use crate::server::RequestContext;
use crate::server::mount::{UpstreamTask, unknown_task};
use crate::server::request::Exchange;

/// The ids of a task that a request is about.
#[derive(Debug, Clone)]
pub(super) struct TaskIds {
    /// The id at the upstream server.
    upstream: String,
    /// The id that the client has.
    exposed: String,
}

impl TaskIds {
    /// Replaces the id of the client by that of the upstream server in the parameters of a request.
    pub(super) fn in_request(&self, params: RawJson) -> RawJson {
        let Some(mut members) = RawObject::parse(params.as_raw_value()) else {
            return params;
        };
        members.set_text("taskId", &self.upstream);
        members.finish()
    }

    /// Replaces the id of the upstream server in the result of a request about the task.
    fn in_result(&self, members: &mut RawObject<'_>) {
        if members.contains("taskId") {
            members.set_text("taskId", &self.exposed);
        }
        relate(members, Some(self));
    }
}

/// Replaces the task in the `_meta` of a message of the upstream server. A task other than `ids` is removed, because the
/// client does not know its id.
pub(super) fn relate(members: &mut RawObject<'_>, ids: Option<&TaskIds>) {
    let Some(meta) = members.object_mut("_meta") else {
        return;
    };
    let Some(related) = meta.object_mut(meta_key::RELATED_TASK) else {
        return;
    };
    let is_own = |ids: &&TaskIds| related.text("taskId").as_deref() == Some(&*ids.upstream);
    match ids.filter(is_own) {
        Some(ids) => related.set_text("taskId", &ids.exposed),
        None => drop(meta.remove(meta_key::RELATED_TASK)),
    }
}

/// Replaces the task in the `_meta` of a notification of the upstream server, like [`relate`].
pub(super) fn relate_notification(
    notification: OutgoingNotification,
    ids: Option<&TaskIds>,
) -> OutgoingNotification {
    let Ok(text) = str::from_utf8(&notification.message) else {
        return notification;
    };
    // Most notifications belong to no task. The slash before these words may be escaped.
    if !text.contains("related-task") {
        return notification;
    }
    let Ok(message) = RawJson::from_string(text.to_owned()) else {
        return notification;
    };
    let related = RawObject::parse(message.as_raw_value()).and_then(|mut members| {
        relate(members.object_mut("params")?, ids);
        members.finish_if_edited()
    });
    match related {
        Some(related) => OutgoingNotification {
            message: related.get().as_bytes().to_vec(),
            kind: notification.kind,
        },
        None => notification,
    }
}

impl SourceInner {
    /// Returns the ids of the task that a request is about. Returns `None` for other requests.
    ///
    /// # Errors
    /// Returns an error if the task is not one of the caller and this server.
    pub(super) fn task_of(&self, ctx: &RequestContext) -> Result<Option<TaskIds>, ErrorObject> {
        let exchange = Exchange {
            context: ctx.clone(),
        };
        if !is_about_task(exchange.route().name()) {
            return Ok(None);
        }
        let task = UpstreamTask::of(&exchange);
        // The tool of another server may have the same name since the configuration changed.
        let task = task.filter(|task| task.upstream == self.name);
        let task = task.ok_or_else(unknown_task)?;
        Ok(Some(TaskIds {
            upstream: task.id,
            exposed: exchange.name().unwrap_or_default().to_owned(),
        }))
    }

    /// Returns `true` if the client of a call may request a task of the upstream server (2025-11-25).
    pub(super) fn accepts_task_request(&self, ctx: &RequestContext) -> bool {
        ctx.version().has_core_tasks() && self.entries().tasks.core
    }

    /// Replaces the ids of tasks in a result.
    ///
    /// # Errors
    /// Returns an error if the id of a new task is too long.
    pub(super) fn with_client_ids(
        &self,
        ctx: &RequestContext,
        ids: Option<&TaskIds>,
        result: RawJson,
    ) -> Result<RawJson, ErrorObject> {
        let Some(mut members) = RawObject::parse(result.as_raw_value()) else {
            return Ok(result);
        };
        match ids {
            Some(ids) => ids.in_result(&mut members),
            None if members.text("resultType").as_deref() == Some("task") => {
                self.seal_id(ctx, &mut members)?;
            }
            None if self.accepts_task_request(ctx) => {
                if let Some(task) = members.object_mut("task") {
                    self.seal_id(ctx, task)?;
                }
                relate(&mut members, None);
            }
            None => {}
        }
        let edited = members.finish_if_edited();
        Ok(edited.unwrap_or_else(|| result.clone()))
    }

    /// Seals the id of a new task.
    fn seal_id(
        &self,
        ctx: &RequestContext,
        members: &mut RawObject<'_>,
    ) -> Result<(), ErrorObject> {
        let Some(id) = members.text("taskId") else {
            return Ok(());
        };
        let exchange = Exchange {
            context: ctx.clone(),
        };
        let task = UpstreamTask {
            upstream: self.name.clone(),
            tool: exchange.name().unwrap_or_default().to_owned(),
            id: id.into_owned(),
        };
        members.set_text("taskId", &task.seal(ctx)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use toolwire_proto::outbox::OutgoingKind;

    use super::*;

    fn ids() -> TaskIds {
        TaskIds {
            upstream: "theirs".to_owned(),
            exposed: "ours".to_owned(),
        }
    }

    #[test]
    fn notification_has_the_id_of_the_client() {
        let notification = |meta: &str| {
            let params = format!(r#"{{"level":"info","data":1.0,"_meta":{meta}}}"#);
            let params = RawJson::from_string(params).unwrap();
            OutgoingNotification::new("notifications/message", params, OutgoingKind::Log)
        };
        let check = |meta: &str, ids: Option<&TaskIds>, expected: &str| {
            let related = relate_notification(notification(meta), ids);
            let expected = notification(expected);
            assert_eq!(
                String::from_utf8_lossy(&related.message),
                String::from_utf8_lossy(&expected.message)
            );
        };
        let theirs = r#"{"io.modelcontextprotocol/related-task":{"taskId":"theirs"}}"#;
        let ours = r#"{"io.modelcontextprotocol/related-task":{"taskId":"ours"}}"#;
        check(theirs, Some(&ids()), ours);
        check(theirs, None, "{}");
        check(r#"{"x":"related-task"}"#, None, r#"{"x":"related-task"}"#);
        check(r#"{"x":1}"#, Some(&ids()), r#"{"x":1}"#);
    }

    #[test]
    fn only_the_own_task_is_related() {
        let ids = ids();
        let check = |id: &str, ids: Option<&TaskIds>, expected: &str| {
            let key = meta_key::RELATED_TASK;
            let message = format!(r#"{{"_meta":{{"x":1.0,"{key}":{{"taskId":"{id}"}}}}}}"#);
            let message = RawJson::from_string(message).unwrap();
            let mut members = RawObject::parse(message.as_raw_value()).unwrap();
            relate(&mut members, ids);
            let expected = expected.replace("KEY", key);
            assert_eq!(members.finish().get(), expected);
        };
        let without = r#"{"_meta":{"x":1.0}}"#;
        check(
            "theirs",
            Some(&ids),
            r#"{"_meta":{"x":1.0,"KEY":{"taskId":"ours"}}}"#,
        );
        check("another", Some(&ids), without);
        check("theirs", None, without);
    }
}
