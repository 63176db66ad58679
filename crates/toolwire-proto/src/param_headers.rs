//! param_headers
