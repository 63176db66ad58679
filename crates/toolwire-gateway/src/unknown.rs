//! The responses to requests that the policy denies: those to requests for entries that do not exist.

use toolwire::ErrorObject;
use toolwire::middleware::Request;
use toolwire_proto::methods::is_about_task;
use toolwire_proto::stamp::resource_not_found;

/// Returns the error of a request for an unknown tool, prompt, resource or task.
pub(crate) fn unknown_entry(request: &Request) -> ErrorObject {
    let name = request.name().unwrap_or_default();
    match request.method() {
        "tools/call" => ErrorObject::invalid_params(format!("unknown tool `{name}`")),
        "prompts/get" => ErrorObject::invalid_params(format!("unknown prompt `{name}`")),
        method if is_about_task(method) => ErrorObject::invalid_params("unknown task"),
        _ => resource_not_found(name, request.version()),
    }
}
