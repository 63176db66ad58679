//! Tasks, as clients of both designs see them.

mod asking;
mod calls;
mod cancelling;
mod core_design;
mod external;
mod listening;
mod peer;
mod stores;
