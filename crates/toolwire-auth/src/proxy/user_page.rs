//! Pages for users, for other endpoints beside the proxy: without scripts, framing and caching.

pub use crate::proxy::browser::cookie;
pub use crate::proxy::page::{escaped, page};
pub use crate::proxy::responses::redirect;
pub use crate::rules::form::decode as decode_form;
