//! A package of its own for the tests in `tests`, because `trybuild` builds all dependencies of its package again.
