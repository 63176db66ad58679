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
