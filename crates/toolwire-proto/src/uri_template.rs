//! uri_template
