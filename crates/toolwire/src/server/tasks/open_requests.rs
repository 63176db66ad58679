//! The input requests of a task without a response, which its record contains as JSON text.

use toolwire_types::{ErrorObject, InputRequests, RawJson};

use crate::store::TaskRecord;

/// Returns the input requests without a response.
pub(crate) fn open_requests(record: &TaskRecord) -> Result<InputRequests, ErrorObject> {
    let requests = record.input_requests.as_ref().map(RawJson::parse);
    requests
        .unwrap_or_else(|| Ok(InputRequests::new()))
        .map_err(|_| ErrorObject::internal("the input requests of the task cannot be read"))
}

/// Returns `true` if the task has input requests without a response. Another program may have written an empty object.
pub(crate) fn has_open_requests(record: &TaskRecord) -> Result<bool, ErrorObject> {
    open_requests(record).map(|open| !open.is_empty())
}

/// Changes the input requests without a response.
pub(crate) fn set_open_requests(
    record: &mut TaskRecord,
    requests: &InputRequests,
) -> Result<(), ErrorObject> {
    record.input_requests = if requests.is_empty() {
        None
    } else {
        let text = RawJson::from_serialize(requests)
            .map_err(|error| ErrorObject::internal(error.to_string()))?;
        Some(text)
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use toolwire_types::ProtocolVersion;

    use super::*;

    #[test]
    fn empty_object_means_no_open_requests() {
        let check = |text: Option<&str>, expected: Option<bool>| {
            let call = RawJson::empty_object();
            let mut record = TaskRecord::new("tool", ProtocolVersion::LATEST, call, 0);
            record.input_requests = text.map(|text| RawJson::from_string(text.to_owned()).unwrap());
            assert_eq!(has_open_requests(&record).ok(), expected, "{text:?}");
        };
        check(None, Some(false));
        check(Some("{}"), Some(false));
        check(Some(r#"{"a":{"method":"roots/list"}}"#), Some(true));
        check(Some(r#"{"a":1}"#), None);
    }
}
