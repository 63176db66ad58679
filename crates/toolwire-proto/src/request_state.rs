//! request_state
